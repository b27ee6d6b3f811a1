"""The blocking half cannot drift from the asyncio one: members and signatures are the same."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from penstock.client import blocking, reading
from penstock.client.blocking import classes
from penstock.client.blocking import reading as blocking_reading
from penstock.client.blocking.gossip import GossipPeer
from penstock.client.blocking.mirrored import MIRRORED, asyncio_class
from penstock.client.blocking.proxy import Proxy, public_members
from penstock.client.client import Client
from penstock.client.gossip import gossip
from penstock.client.groups.sender import GroupSender
from penstock.client.publishing.publisher import Publisher
from penstock.client.queues.sender import QueueSender

PAIRS: list[tuple[type, type]] = [
    (Client, blocking.Client),
    (Publisher, blocking.Publisher),
    (reading.Reading, blocking_reading.Reading),
    (gossip.GossipPeer, GossipPeer),
    *((asyncio_class(name), getattr(classes, name)) for name in MIRRORED),
]

DIFFERENT_RETURNS = {
    (Publisher, "send"): "None",  # the message crosses to another thread, unnumbered
}

each_pair = pytest.mark.parametrize(
    ("asynchronous", "made"), PAIRS, ids=[f"{a.__name__}-{b.__name__}" for a, b in PAIRS]
)


def public(kind: type) -> set[str]:
    return {
        "__iter__" if name in ("__aiter__", "__iter__") else name for name in public_members(kind)
    }


def blocking_annotation(annotation: Any) -> Any:
    return str(annotation).replace("AsyncIterator", "Iterator")


@each_pair
def test_both_have_the_same_members(asynchronous: type, made: type) -> None:
    assert issubclass(made, Proxy)
    offered = {name for name in dir(made) if not name.startswith("_")}
    offered |= {"__iter__"} if hasattr(made, "__iter__") else set()
    assert offered == public(asynchronous)
    assert hasattr(made, "__enter__") == hasattr(asynchronous, "__aenter__")
    assert hasattr(made, "__exit__") == hasattr(asynchronous, "__aexit__")


@each_pair
def test_both_have_the_same_signatures(asynchronous: type, made: type) -> None:
    for name, member in public_members(asynchronous).items():
        if not inspect.isfunction(member):
            continue
        here = getattr(made, "__iter__" if name == "__aiter__" else name)
        assert not inspect.iscoroutinefunction(here)
        expected, found = inspect.signature(member), inspect.signature(here)
        assert found.parameters == expected.parameters, name
        returned = DIFFERENT_RETURNS.get((asynchronous, name), expected.return_annotation)
        assert blocking_annotation(found.return_annotation) == blocking_annotation(returned), name


@each_pair
def test_every_public_attribute_is_declared(asynchronous: type, made: type) -> None:
    """Attributes that ``__init__`` sets are seen by the blocking half only if they are declared."""
    for kind in asynchronous.__mro__:
        if "__init__" in vars(kind) and inspect.isfunction(kind.__init__):
            names = kind.__init__.__code__.co_names
            source = inspect.getsource(kind.__init__)
            assigned = {name for name in names if f"self.{name} =" in source}
            assigned |= {name for name in names if f"self.{name}:" in source}
            undeclared = {name for name in assigned if not name.startswith("_")}
            assert undeclared <= set(public_members(asynchronous)), kind


def test_senders_are_publishers() -> None:
    from penstock.client.blocking.proxy import proxy_of

    for kind in (QueueSender, GroupSender):
        made = proxy_of(kind)
        assert made is not None
        assert issubclass(made, blocking.Publisher)


def test_a_name_that_is_not_made_is_not_there() -> None:
    with pytest.raises(AttributeError, match="Turbine"):
        classes.Turbine  # noqa: B018
    with pytest.raises(AttributeError, match="turbine"):
        blocking.turbine  # noqa: B018
    assert set(blocking.__all__) <= set(dir(blocking))
    for name in blocking.__all__:
        assert getattr(blocking, name) is not None
