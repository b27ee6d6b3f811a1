"""How many places name a message type: nothing outside its service and its client has to."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest

from penstock.core.message import ClientReply, ClientRequest, Message
from penstock.services.registry import descriptions

SOURCES = Path(__file__).parents[2] / "src" / "penstock"

CLIENTS = {
    "guaranteed": (
        "client/guaranteed",
        "client/publishing",
        "client/client.py",
        # Producers of other services say something else when they open.
        "client/queues/producer.py",
        "client/groups/producer.py",
    ),
    "queues": ("client/queues",),
    "multicast": ("client/groups",),
    "datagram": ("client/datagram",),
    "gossip": ("client/gossip",),
}
"""Where the client speaks each service's messages."""

PUBLIC = ("__init__.py", "client/blocking/")
"""Messages that applications see, such as ``ThrottleNotice``."""

STAND_INS = ("lab/workloads", "lab/oracle", "lab/arrays", "testing", "cli/messaging")
"""Simulated clients, experiments and commands, which use messages as an application would."""


def named_in(path: Path) -> set[tuple[str, str]]:
    """The module and name of everything that a file imports from elsewhere and uses."""
    tree = ast.parse(path.read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    found = {(node.module or "", alias.name) for node in imports for alias in node.names}
    modules = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in imports
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add((modules.get(node.value.id, ""), node.attr))
    return found


@pytest.fixture(scope="module")
def places() -> dict[tuple[str, str], list[str]]:
    """The files that name each message type, its definition first."""
    by_name: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in sorted(SOURCES.rglob("*.py")):
        for named in named_in(path):
            by_name[named].append(str(path.relative_to(SOURCES)))
    return by_name


def key_of(kind: type[Message]) -> tuple[str, str]:
    return kind.__module__, kind.__name__


def client_messages() -> list[tuple[str, type[Message]]]:
    return [
        (each.name, kind)
        for each in descriptions()
        for kind in each.messages
        if issubclass(kind, ClientRequest | ClientReply)
    ]


def test_only_a_service_and_its_client_name_its_messages(
    places: dict[tuple[str, str], list[str]],
) -> None:
    for service, kind in client_messages():
        allowed = (f"services/{service}/", *CLIENTS[service], *PUBLIC, *STAND_INS)
        elsewhere = [each for each in places[key_of(kind)] if not each.startswith(allowed)]
        assert not elsewhere, f"{kind.__name__} of {service} is named in {elsewhere}"


def test_the_price_of_a_message(
    places: dict[tuple[str, str], list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its definition, the table and the method that handle it, and the client."""
    counts = {
        kind.__name__: 1
        + len([each for each in places[key_of(kind)] if not each.startswith(STAND_INS)])
        for service, kind in client_messages()
    }
    with capsys.disabled():
        few = sum(count <= 3 for count in counts.values())
        print(
            f"\na message between client and broker is named in {median(counts.values()):g} files "
            f"(median; definition included), {few} of {len(counts)} in three or fewer"
        )
    assert median(counts.values()) <= 4
