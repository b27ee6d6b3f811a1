"""The transition table of a row, held against what alias queues do, and against the document."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.machine import LogRead, PersistFailed
from penstock.services.queues.alias.row_life import (
    TRANSITIONS,
    RowEvent,
    RowState,
    as_markdown,
    reachable,
)
from penstock.services.queues.messages import (
    ChangeDestination,
    ForwardRefused,
    MonitorReport,
    PurgeQueue,
    Receive,
    Resolved,
    SendToQueue,
    Stored,
)
from penstock.services.queues.parameters import AliasConfig, QueueConfig, QueueParameters

DOCUMENT = Path(__file__).parents[4] / "docs" / "reference" / "queues.md"
E, S = RowEvent, RowState

ALWAYS = frozenset(
    {E.ADMITTED, E.PASSED, E.RELEASED, E.HANDED, E.FORWARDED, E.STORED_INSTEAD, E.DISCARDED}
)
"""What every step may do: forward, hand over, store what cannot pass, discard what has expired."""

EVENTS: dict[Any, frozenset[RowEvent]] = {
    SendToQueue: ALWAYS,
    "durable": ALWAYS | {E.PERSISTED, E.NOTE_DURABLE},
    PersistFailed: ALWAYS | {E.STORE_FAILED, E.NOTE_RETRIED, E.NOTE_ABANDONED},
    Stored: ALWAYS | {E.CLAIMED, E.RESOLVED},
    Resolved: frozenset({E.RESOLVED}),
    ForwardRefused: ALWAYS | {E.TAKEN_BACK},
    MonitorReport: ALWAYS,
    PurgeQueue: ALWAYS | {E.DISCARDED},
    ChangeDestination: ALWAYS | {E.TAKEN_BACK},
    "routes": ALWAYS | {E.TAKEN_BACK},
    "deadline": ALWAYS | {E.TAKEN_BACK},
    Receive: ALWAYS,
}
"""The events that each fact can bring about."""

WITHIN_BROKER = frozenset({E.ANSWERED, E.CLAIMED, E.RESOLVED, E.TAKEN_BACK})
"""What a queue of the same broker may add to any fact: its answers need no message on a link."""


def states_of(network: Any) -> dict[int, RowState]:
    """The state of every position at the alias queue."""
    states = network.brokers["home"].aliases["orders"].row_states()
    return {
        position: state
        for state, intervals in states.items()
        for low, high in intervals
        for position in range(low, high)
    }


class Watcher:
    """Checks every change of the states of rows against the table."""

    def __init__(self, network: Any, allowed: frozenset[RowEvent]) -> None:
        self.network = network
        self.allowed = allowed
        self.before, self.end = states_of(network), self.assigned_end()
        self.seen: set[tuple[RowState, RowState]] = set()
        network.watch = self.changed

    def assigned_end(self) -> int:
        """Positions from here on are new."""
        return self.network.brokers["home"].aliases["orders"].journal.assigned_end

    def changed(self, name: str, cause: Any) -> None:
        if name == "home":
            after = states_of(self.network)
            if cause != "start" and not isinstance(cause, LogRead):
                self.check(cause, after)
            self.before, self.end = after, self.assigned_end()

    def check(self, cause: Any, after: dict[int, RowState]) -> None:
        kind = cause if isinstance(cause, str) else type(cause)
        events = EVENTS.get(kind, ALWAYS) | self.allowed
        for position in self.before.keys() | after.keys():
            known = S.NEW if position >= self.end else S.GONE
            before, now = self.before.get(position, known), after.get(position, S.GONE)
            assert now in reachable(before, events), (
                f"row {position} was {before.name} and is {now.name} after {kind}"
            )
            self.seen.add((before, now))


def network_of(
    queue_network: Any, *, here: bool, pass_through_ns: int, window_bytes: int = 4 << 20
) -> Any:
    work = (QueueConfig("work", dead_letter_queue="", depth_limit_messages=60),)
    sites = ("home",) if here else ("east", "west")
    orders = AliasConfig(
        "orders", tuple(f"work@{site}" for site in sites), pass_through_ns=pass_through_ns
    )
    network = queue_network(
        {"home": (work if here else (), (orders,)), "east": (work, ()), "west": (work, ())},
        QueueParameters(pass_again_ns=1, forward_window_bytes=window_bytes),
    )
    for site in sites:
        network.client("worker", site, Receive("w", "work"))
    return network


def walk(network: Any, random: Random, make_batch: Any, *, steps: int) -> None:
    """A random history of sends, losses, crashes, cuts and full disks."""
    sent = 0
    names = list(network.brokers)
    weights = {"send": 8, "deliver": 14, "sync": 14, "time": 4, "cut": 2, "full": 1, "admin": 1}
    weights.update(lose=1, crash=0.4, settle=2)
    for _ in range(steps):
        match random.choices(list(weights), list(weights.values()))[0]:
            case "send":
                count, ttl = random.randrange(1, 4), random.choice([0, 0, 0, SECOND])
                message = SendToQueue(
                    "p", "orders", sent, make_batch(count, sent), time_to_live_ns=ttl
                )
                network.client("c", "home", message, settle=False)
                sent += count
            case "deliver" if network.under_way:
                network.deliver()
            case "lose" if network.under_way:
                network.under_way.popleft()
            case "sync":
                network.sync(random.choice(names))
            case "time":
                network.tick(random.choice([10 * MILLISECOND, 700 * MILLISECOND, 3 * SECOND]))
            case "cut":
                site = random.choice(["east", "west"])
                network.set_reachable("home", site, reachable=random.random() < 0.6)
            case "full":
                network.stores[random.choice(names)].full = random.random() < 0.5
            case "admin":
                address = random.choice(network.brokers["home"].aliases["orders"].addresses)
                message = random.choice(
                    [
                        PurgeQueue("orders", request=1),
                        ChangeDestination("orders", address, True, request=2),
                    ]
                )
                network.client("c", "home", message, settle=False)
                again = ChangeDestination("orders", address, request=3)
                network.client("c", "home", again, settle=False)
            case "crash":
                network.crash("home", random.randrange(1000))
            case "settle":
                network.settle()


def test_every_change_of_a_row_is_in_the_table(queue_network, make_batch):
    seen: set[tuple[RowState, RowState]] = set()
    for seed in range(60):
        here, near = seed % 3 == 2, 3600 * SECOND if seed % 3 else 0
        # With a window of one byte a second run of rows waits for the first.
        window_bytes = 1 if seed % 2 else 4 << 20
        network = network_of(
            queue_network, here=here, pass_through_ns=near, window_bytes=window_bytes
        )
        watcher = Watcher(network, WITHIN_BROKER if here else frozenset())
        walk(network, Random(f"row life/{seed}"), make_batch, steps=200)
        seen |= watcher.seen
    missing = [
        f"{before.name} -> {after.name} ({event.name})"
        for (before, event), after in TRANSITIONS.items()
        if before is not after and (before, after) not in seen
    ]
    assert not missing, f"no walk took these transitions: {missing}"


def test_the_walk_would_notice_a_transition_that_the_table_lacks(queue_network, make_batch):
    network = network_of(queue_network, here=False, pass_through_ns=0)
    watcher = Watcher(network, frozenset())
    network.client("c", "home", SendToQueue("p", "orders", 0, make_batch(1)), settle=False)
    watcher.before = {1: S.DECIDED}
    with pytest.raises(AssertionError, match="row 1 was DECIDED and is WAITING"):
        network.sync("home")


def test_every_row_can_reach_its_end():
    for state in RowState:
        assert S.GONE in reachable(state, frozenset(RowEvent))
    assert reachable(S.GONE, frozenset(RowEvent)) == {S.GONE}


def test_an_owned_row_never_becomes_undecided_again():
    undecided = {S.WAITING, S.IN_FLIGHT, S.DISCARDING}
    for state in (S.DECIDING, S.DECIDED):
        assert not reachable(state, frozenset(RowEvent)) & undecided


def test_every_state_and_event_is_in_the_table():
    states = {each for (before, _), after in TRANSITIONS.items() for each in (before, after)}
    assert states == set(RowState)
    assert {event for _, event in TRANSITIONS} == set(RowEvent)


def test_the_document_prints_the_table():
    assert as_markdown() in DOCUMENT.read_text(encoding="utf-8"), (
        "docs/reference/queues.md differs from TRANSITIONS; replace its tables by this:\n"
        + as_markdown()
    )
