"""What comes at once means the same as what comes one after another at that instant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND, Instant
from penstock.core.datagrams import ReceivedTogether, SendBestEffort, SendTogether
from penstock.core.machine import Effect, Received
from penstock.core.message import Message
from penstock.services.datagram.broker import DatagramBroker
from penstock.services.datagram.messages import (
    DatagramOpened,
    EchoReply,
    EchoRequest,
    FlowTag,
    OpenDatagram,
    Publication,
    SubscribeDatagrams,
)
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.peer import (
    BROKER,
    DatagramPeer,
    DeliverPublication,
    DeliverTogether,
)

from .conftest import NOW, PUBLISHER, SUBSCRIBER, publication

KINDS = ("wanted", "other", "both")
ARRIVALS = st.lists(
    st.tuples(
        st.integers(1, 40),  # how far the sequence number moves
        st.integers(-2, 300),  # one-way delay, ms; a clock may be ahead
        st.booleans(),  # whether this subscriber limits the flow
        st.sampled_from(KINDS),
        st.integers(1, 2),  # the publisher's incarnation
    ),
    min_size=1,
    max_size=60,
)
BATCHES = st.lists(st.integers(1, 12), min_size=60, max_size=60)


def arrivals_of(drawn: Iterable[tuple[int, int, bool, str, int]]) -> list[Publication]:
    sequence, tagged, made = 0, 0, []
    for step, delay_ms, limiting, kind, incarnation in drawn:
        sequence += step
        tagged += step if limiting else 0
        flows = (FlowTag(SUBSCRIBER, 1, tagged, 10 * MILLISECOND),) if limiting else ()
        made.append(
            publication(
                sequence,
                sent_at=-delay_ms * MILLISECOND,  # from its arrival; put right when it arrives
                flows=flows,
                incarnation=incarnation,
                record=bytes(64),
                attributes={"kind": kind},
            )
        )
    return made


def subscriber(law: str) -> DatagramPeer:
    peer = DatagramPeer("s", DatagramParameters(law=law), publishes=False)  # type: ignore[arg-type]
    peer.subscribe(1, "kind = 'wanted' OR kind = 'both'")
    peer.subscribe(2, "kind = 'both'")
    peer.handle(Received(BROKER, DatagramOpened("s", SUBSCRIBER)), now=NOW)
    return peer


def state_of(thing: object) -> Any:
    """Everything that an object of the control knows, as plain values."""
    if isinstance(thing, dict):
        return {key: state_of(each) for key, each in thing.items()}
    if thing is None or isinstance(thing, str | int | float | msgspec.Struct):
        return thing
    if hasattr(thing, "__iter__"):
        return [state_of(each) for each in thing]
    names = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    return {name: state_of(getattr(thing, name)) for name in names or sorted(vars(thing))}


def told(peer: DatagramPeer, batch: list[Publication], now: Instant) -> list[Effect]:
    return peer.handle(ReceivedTogether(BROKER, batch), now=now)


def told_one_by_one(peer: DatagramPeer, batch: list[Publication], now: Instant) -> list[Effect]:
    return [effect for each in batch for effect in peer.handle(Received(BROKER, each), now=now)]


def delivered(effects: list[Effect]) -> list[tuple[Publication, tuple[int, ...]]]:
    found = []
    for effect in effects:
        if isinstance(effect, DeliverTogether):
            pairs = zip(effect.publications, effect.filter_ids, strict=True)
            found += [pair for pair in pairs if pair[1]]
        elif isinstance(effect, DeliverPublication):
            found.append((effect.publication, effect.filter_ids))
    return found


def history(
    law: str,
    tell: Callable[[DatagramPeer, list[Publication], Instant], list[Effect]],
    publications: list[Publication],
    batches: list[int],
) -> list[Any]:
    """What a subscriber delivers, sends and knows when publications come in these batches."""
    peer, now, left, seen = subscriber(law), NOW, list(publications), []
    assert peer.subscribing is not None
    for size in batches:
        now += 20 * MILLISECOND
        batch = [msgspec.structs.replace(each, sent_at=now + each.sent_at) for each in left[:size]]
        left = left[size:]
        if not batch:
            break
        seen.append(delivered(tell(peer, batch, now)))
        sent = peer.subscribing.due(now)
        seen.append(sent)
        for asked in sent:
            if isinstance(asked, EchoRequest):
                peer.handle(
                    Received(BROKER, EchoReply(SUBSCRIBER, PUBLISHER, asked.sent_at, now)),
                    now=now + MILLISECOND,
                )
        seen.append(peer.next_deadline())
        for session in peer.subscribing.sessions.values():
            known = dict(vars(session))
            known.pop("_parameters")
            seen.append(state_of(known))
    return seen


@pytest.mark.parametrize("law", ["paper", "improved"])
@given(drawn=ARRIVALS, batches=BATCHES)
@settings(deadline=None, max_examples=60)
def test_a_subscriber_measures_the_same(
    law: str, drawn: list[tuple[int, int, bool, str, int]], batches: list[int]
) -> None:
    publications = arrivals_of(drawn)
    together = history(law, told, publications, batches)
    assert together == history(law, told_one_by_one, publications, batches)


def broker() -> DatagramBroker:
    made = DatagramBroker("near", now=NOW)
    made.received("client/1", OpenDatagram("p", True), NOW)
    for number, selector in enumerate(("kind = 'wanted'", "kind <> 'other'", "kind = 'b'"), 2):
        made.received(f"client/{number}", OpenDatagram(f"s{number}", False), NOW)
        made.received(f"client/{number}", SubscribeDatagrams(1, selector), NOW)
    return made


def sent_to(effects: list[Effect]) -> dict[str, list[Message]]:
    found: dict[str, list[Message]] = {}
    for effect in effects:
        if isinstance(effect, SendTogether):
            assert len(effect.messages) > 1
            found.setdefault(effect.link, []).extend(effect.messages)
        elif isinstance(effect, SendBestEffort):
            found.setdefault(effect.link, []).append(effect.message)
    return found


FORGED = publication(9)
MESSAGES = st.lists(
    st.sampled_from(KINDS).map(lambda kind: publication(1, attributes={"kind": kind}))
    | st.just(msgspec.structs.replace(FORGED, source="somebody@else"))
    | st.just(EchoRequest("s2@near", PUBLISHER, NOW)),
    min_size=1,
    max_size=12,
)


@given(messages=MESSAGES)
@settings(deadline=None, max_examples=60)
def test_a_broker_forwards_the_same(messages: list[Message]) -> None:
    one, other = broker(), broker()
    together = one.received_together("client/1", messages, NOW)
    singly = [effect for each in messages for effect in other.received("client/1", each, NOW)]
    for kind in (Publication, EchoRequest):
        # Among themselves both kinds keep their order; reports and echoes may overtake.
        assert {
            link: [each for each in some if isinstance(each, kind)]
            for link, some in sent_to(together).items()
        } == {
            link: [each for each in some if isinstance(each, kind)]
            for link, some in sent_to(singly).items()
        }
    assert one.forwarded_messages == other.forwarded_messages
    assert one.refused_messages == other.refused_messages


def test_what_goes_to_one_place_goes_together() -> None:
    wanted, other = publication(1), publication(2, attributes={"kind": "other"})
    effects = broker().received_together("client/1", [wanted, other, wanted], NOW + SECOND)
    assert effects == [
        SendTogether("client/2", [wanted, wanted]),
        SendTogether("client/3", [wanted, wanted]),
    ]
