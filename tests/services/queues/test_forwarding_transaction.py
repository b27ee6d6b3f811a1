"""The forwarding transaction under any interleaving of losses, repeats, reorderings and crashes.

Three brokers' queue services, a network that delivers any message at any time, again, or never,
and disks that lose what was not synced.  At the end everything heals, and every row that was
confirmed to its producer must be in exactly one queue, once.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.core.clock import NEVER, SECOND, Instant
from penstock.core.machine import (
    Effect,
    LogRead,
    Persist,
    PersistFailed,
    PersistState,
    ReadLog,
    Send,
    TrimLog,
)
from penstock.core.tokens import Tokens
from penstock.services.queues.broker import QueueBroker
from penstock.services.queues.messages import (
    Decision,
    Forward,
    Receive,
    Resolved,
    RowsEntry,
    SendReceipt,
    SendRefused,
    SendToQueue,
    Stored,
)
from penstock.services.queues.parameters import AliasConfig, QueueConfig, QueueParameters
from penstock.services.queues.queue.forwarded import HALF_WITHIN_NS
from penstock.store.faulty import MemoryStore

NAMES = ("home", "east", "west")
PARAMETERS = QueueParameters(pass_again_ns=1)
STORED, PASSING = 0, 3600 * SECOND
"""How far away a destination may be for rows to pass through: none is near, or all are."""


class Harness:
    """The brokers, their disks, and whatever is under way between them."""

    def __init__(
        self,
        pass_through_ns: int = STORED,
        *,
        here: bool = False,
        depth_limit_messages: int = 1_000_000,
    ) -> None:
        """With ``here`` the alias queue's own broker has a destination, too."""
        self.depth_limit_messages = depth_limit_messages
        self.pass_through_ns = pass_through_ns
        self.here = here
        self.with_queue = NAMES if here else NAMES[1:]
        self.now: Instant = 1000 * SECOND
        self.stores = {name: MemoryStore[Any](lambda entry: entry.frame.weight) for name in NAMES}
        self.brokers: dict[str, QueueBroker] = {}
        self.under_way: list[tuple[str, str, Any]] = []
        self.confirmed: set[int] = set()
        self.refusals: list[str] = []
        self.sent = 0
        self.unreachable: set[str] = set()
        for name in NAMES:
            self.start(name)

    def start(self, name: str) -> None:
        store = self.stores[name]
        logs = {}
        for log in store.log_names():
            bounds = store.bounds(log)
            logs[log] = (bounds.first_low, bounds.end_high, bounds.stored_bytes)
        destinations = tuple(f"work@{each}" for each in self.with_queue)
        alias = AliasConfig("orders", destinations, pass_through_ns=self.pass_through_ns)
        aliases = (alias,) if name == "home" else ()
        limit = self.depth_limit_messages
        work = QueueConfig("work", dead_letter_queue="", depth_limit_messages=limit)
        queues = (work,) if name in self.with_queue else ()
        saved = store.load_state()
        broker = QueueBroker(
            name, queues, aliases, PARAMETERS, Tokens(), saved=saved, logs=logs, now=self.now
        )
        self.brokers[name] = broker
        self.carry_out(name, broker.start())
        away = self.unreachable if name == "home" else set()
        hops = {each: each for each in NAMES if each != name and each not in away}
        self.carry_out(name, broker.routes_changed({}, hops, self.now))
        if queues:
            # A consumer without credit: the queue counts as served and keeps what it gets.
            self.carry_out(name, broker.received("client", Receive("c", "work"), self.now))

    def carry_out(self, name: str, effects: list[Effect]) -> None:
        store = self.stores[name]
        for effect in effects:
            match effect:
                case Send(link, message):
                    if link in NAMES:
                        self.under_way.append((name, link, message))
                    elif isinstance(message, SendReceipt):
                        first = message.first_sequence
                        self.confirmed.update(range(first, first + message.count))
                    elif isinstance(message, SendRefused):
                        self.refusals.append(message.reason)
                case Persist(token, log, entry):
                    frame = entry.frame
                    store.append(token, log, frame.low, frame.high, entry)
                case PersistState(token, values):
                    store.set_state(token, values)
                case ReadLog(token, log, low, high, limit):
                    found = store.read(log, low, high, limit)
                    frames = tuple(record.data for record in found.records)
                    fact = LogRead(token, frames, found.complete_to)
                    self.carry_out(name, self.brokers[name].log_read(fact, self.now))
                case TrimLog(log, below):
                    store.trim(log, below)
        self.brokers[name].check_invariants()

    def sync(self, name: str) -> None:
        commit = self.stores[name].sync()
        for token in commit.durable:
            self.carry_out(name, self.brokers[name].resolved(token, None, self.now))
        for failure in commit.failed:
            self.stores[name].resume_after(failure)
            answer = self.brokers[name].resolved(
                failure.token,
                PersistFailed(failure.token, failure.reason, failure.uncertain),
                self.now,
            )
            self.carry_out(name, answer)

    def deliver(self, index: int, *, keep: bool) -> None:
        if self.under_way:
            at = index % len(self.under_way)
            source, target, message = self.under_way[at]
            if not keep:
                del self.under_way[at]
            self.carry_out(target, self.brokers[target].received(source, message, self.now))

    def run(self, steps: int) -> None:
        """Let things go their way for a while."""
        for _ in range(steps):
            for name in NAMES:
                self.sync(name)
            self.deliver(0, keep=False)

    def run_forwards(self) -> None:
        """Deliver what was forwarded, and let the destinations store it."""
        forwards = [each for each in self.under_way if isinstance(each[2], Forward)]
        self.under_way = [each for each in self.under_way if each not in forwards]
        for source, target, message in forwards:
            self.carry_out(target, self.brokers[target].received(source, message, self.now))
            self.sync(target)

    def set_reachable(self, site: str, *, reachable: bool) -> None:
        """Whether the overlay knows a way from home to a site; what is under way stays so."""
        self.unreachable.discard(site)
        if not reachable:
            self.unreachable.add(site)
        hops = {each: each for each in ("east", "west") if each not in self.unreachable}
        self.carry_out("home", self.brokers["home"].routes_changed({}, hops, self.now))

    def send(self, count: int, *, first: int | None = None) -> None:
        """New rows; with ``first``, rows that were sent before."""
        first = self.sent if first is None else first
        rows = [({"n": first + each}, b"") for each in range(count)]
        message = SendToQueue("p", "orders", first, Batch.from_rows(rows))
        self.sent = max(self.sent, first + count)
        self.carry_out("home", self.brokers["home"].received("client", message, self.now))

    def pass_time(self) -> None:
        self.now += 2 * SECOND
        for name in NAMES:
            deadline = self.brokers[name].next_deadline()
            if deadline is not None and deadline <= self.now:
                self.carry_out(name, self.brokers[name].deadline(self.now))

    def crash(self, name: str, random: Random) -> None:
        self.stores[name].crash(random)
        self.start(name)

    def heal(self) -> None:
        for name in NAMES:
            self.stores[name].full = False
        for site in ("east", "west"):
            self.set_reachable(site, reachable=True)
        for _ in range(12):
            for _ in range(400):
                if not self.under_way:
                    break
                self.deliver(0, keep=False)
                for name in NAMES:
                    self.sync(name)
            for name in NAMES:
                self.sync(name)
            self.pass_time()

    def stored_at_home(self) -> int:
        """How many rows were ever written to the alias queue's journal."""
        store, log = self.stores["home"], "alias/orders"
        records = store.read(log, 0, store.bounds(log).end_high, 1 << 30).records
        return sum(len(each.data.frame) for each in records if isinstance(each.data, RowsEntry))

    def passing(self) -> int:
        """How many rows the alias queue holds without having stored them."""
        entries = self.brokers["home"].aliases["orders"].entries
        return sum(entry.live for entry in entries.within(0, NEVER) if not entry.stored)

    def stored(self, name: str) -> list[int]:
        queue = self.brokers[name].queues["work"]
        found = []
        for priority, level in queue.ready.levels():
            for low, high in level:
                for entry in queue.entries.within(low, high):
                    assert entry.frame is not None
                    part = entry.frame.slice(low, high)
                    found += [int(each["n"]) for each in part.batch.attribute_rows()]
            assert priority == 4
        return found


ACTIONS = st.one_of(
    st.tuples(st.just("send"), st.integers(1, 5)),
    st.tuples(st.just("deliver"), st.integers(0, 50)),
    st.tuples(st.just("repeat"), st.integers(0, 50)),
    st.tuples(st.just("lose"), st.integers(0, 50)),
    st.tuples(st.just("sync"), st.sampled_from(NAMES)),
    st.tuples(st.just("crash"), st.sampled_from(NAMES)),
    st.tuples(st.just("full"), st.sampled_from(NAMES)),
    st.tuples(st.just("time"), st.just(0)),
    st.tuples(st.just("run"), st.integers(1, 20)),
    st.tuples(st.just("cut"), st.sampled_from(NAMES[1:])),
    st.tuples(st.just("mend"), st.sampled_from(NAMES[1:])),
)


WALKS = {
    STORED: (8, 12, 12, 4, 2, 12, 1, 1, 3, 5),
    # Rows pass through only where brokers were in touch for a while.
    PASSING: (12, 24, 12, 4, 0.5, 12, 0.7, 0.7, 0.5, 5),
}
"""How often each action of a long walk is taken."""


def act(harness: Harness, random: Random, name: str, argument: Any) -> None:
    """Do one thing."""
    match name:
        case "send":
            harness.send(argument)
        case "deliver":
            harness.deliver(argument, keep=False)
        case "repeat":
            harness.deliver(argument, keep=True)
        case "lose":
            if harness.under_way:
                del harness.under_way[argument % len(harness.under_way)]
        case "sync":
            harness.sync(argument)
        case "crash":
            harness.crash(argument, random)
        case "full":
            harness.stores[argument].full = not harness.stores[argument].full
        case "run":
            harness.run(argument)
        case "cut" | "mend":
            harness.set_reachable(argument, reachable=name == "mend")
        case "time":
            harness.pass_time()


def judge(harness: Harness) -> None:
    """Everything heals: each confirmed row is in one queue, once, and none is left prepared."""
    harness.heal()
    stored = [number for each in harness.with_queue for number in harness.stored(each)]
    assert len(stored) == len(set(stored)), "a row is in two places"
    assert harness.confirmed <= set(stored), "a confirmed row is lost"
    for name in harness.with_queue:
        assert harness.brokers[name].queues["work"].prepared.rows == 0
    alias = harness.brokers["home"].aliases["orders"]
    assert alias.entries.rows == 0
    assert all(each.is_done for each in alias.destinations)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(ACTIONS, max_size=60),
    st.integers(0, 10),
    st.sampled_from([STORED, PASSING]),
    st.booleans(),
)
def test_every_confirmed_row_ends_in_exactly_one_queue(
    actions: list[tuple[str, Any]], seed: int, pass_through_ns: int, here: bool
) -> None:
    harness = Harness(pass_through_ns, here=here)
    random = Random(seed)
    for name, argument in actions:
        act(harness, random, name, argument)
    judge(harness)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("pass_through_ns", [STORED, PASSING])
@pytest.mark.parametrize("here", [False, True])
def test_long_walks_end_in_exactly_one_queue(seed: int, pass_through_ns: int, here: bool) -> None:
    harness = Harness(pass_through_ns, here=here)
    random = Random(seed)
    for _ in range(150):
        name = random.choices(
            ("send", "run", "deliver", "repeat", "lose", "sync", "crash", "full", "cut", "mend"),
            WALKS[pass_through_ns],
        )[0]
        argument: Any = random.randrange(1, 6)
        if name in ("sync", "crash", "full"):
            argument = random.choice(NAMES)
        elif name in ("cut", "mend"):
            argument = random.choice(NAMES[1:])
        act(harness, random, name, argument)
        if random.random() < 0.05:
            harness.pass_time()
    judge(harness)


def test_a_row_that_two_destinations_stored_is_withdrawn_from_the_second() -> None:
    harness = Harness()
    harness.run(10)
    harness.send(4)
    harness.sync("home")
    # Both destinations store two rows each, and their questions are lost.
    assert [type(message) for _, _, message in harness.under_way].count(Forward) == 2
    harness.run_forwards()
    said_by_east = [each for each in harness.under_way if each[0] == "east"]
    harness.under_way = [each for each in harness.under_way if each[0] != "east"]
    # East cannot be reached: its rows go to west, which says first that it has them.
    harness.set_reachable("east", reachable=False)
    harness.run(30)
    assert sorted(harness.stored("west")) == [0, 1, 2, 3]
    assert harness.brokers["east"].queues["work"].prepared.rows == 2
    # East's word comes at last, and is answered.
    harness.under_way += said_by_east
    harness.set_reachable("east", reachable=True)
    harness.run(30)
    assert harness.brokers["east"].queues["work"].entries.rows == 0
    judge(harness)


def test_a_row_went_elsewhere_only_when_that_is_durable() -> None:
    harness = Harness()
    harness.run(10)
    harness.send(2)
    harness.sync("home")
    harness.run_forwards()
    # East's word is lost, east cannot be reached, and its row goes to west as well.
    harness.under_way = [each for each in harness.under_way if each[0] != "east"]
    harness.set_reachable("east", reachable=False)
    harness.run_forwards()
    # West gets both rows; the note that says so is not on the disk when east asks.
    for _ in range(len(harness.under_way)):
        harness.deliver(0, keep=False)
    harness.set_reachable("east", reachable=True)
    east = harness.brokers["east"]
    harness.carry_out("east", east.routes_changed({}, {}, harness.now))
    harness.carry_out("east", east.routes_changed({}, {"home": "home"}, harness.now))
    for _ in range(len(harness.under_way)):
        harness.deliver(0, keep=False)
    assert not [each for each in harness.under_way if isinstance(each[2], Decision)]
    # So it may be forgotten again, and any of them may get the rows.
    harness.crash("home", Random(1))
    judge(harness)


# -- rows that pass through ------------------------------------------------------------------------


def in_touch() -> Harness:
    """Two rows were stored at home and forwarded: the destinations are known to be near."""
    harness = Harness(PASSING)
    harness.run(10)
    harness.send(2)
    harness.run(40)
    assert harness.confirmed == {0, 1}
    assert harness.stored_at_home() == 2
    return harness


def test_rows_for_near_destinations_are_stored_only_there() -> None:
    harness = in_touch()
    harness.send(4)
    assert harness.confirmed == {0, 1}
    harness.run(40)
    assert harness.confirmed == {0, 1, 2, 3, 4, 5}
    assert harness.stored_at_home() == 2
    judge(harness)


def test_rows_that_passed_before_a_crash_could_note_it_are_dropped_and_sent_again() -> None:
    harness = in_touch()
    harness.send(4)
    harness.run_forwards()
    assert sum(harness.brokers[site].queues["work"].prepared.rows for site in NAMES[1:]) == 4
    harness.crash("home", Random(1))
    harness.heal()
    assert sorted(harness.stored("east") + harness.stored("west")) == [0, 1]
    harness.send(4, first=2)
    harness.run(40)
    assert harness.confirmed == set(range(6))
    judge(harness)


def test_a_repeat_of_rows_that_passed_is_known_after_a_restart() -> None:
    harness = in_touch()
    harness.send(4)
    harness.run(40)
    harness.crash("home", Random(1))
    harness.confirmed.clear()
    harness.send(6, first=0)
    harness.run(40)
    assert harness.confirmed == set(range(6))
    assert harness.stored_at_home() == 2
    judge(harness)


def test_rows_that_pass_are_refused_and_withdrawn_if_the_note_cannot_be_written() -> None:
    harness = in_touch()
    harness.stores["home"].full = True
    harness.send(4)
    harness.run(40)
    # The second destination's note was waiting for the first one's.
    harness.pass_time()
    harness.run(40)
    assert harness.refusals
    assert all("full" in reason for reason in harness.refusals)
    judge(harness)
    assert sorted(harness.stored("east") + harness.stored("west")) == [0, 1]


def test_rows_that_find_no_owner_are_stored_at_home_after_all() -> None:
    harness = in_touch()
    harness.send(4)
    # Both destinations get their rows, and their questions are lost.
    harness.run_forwards()
    harness.under_way.clear()
    assert harness.passing() == 4
    harness.pass_time()
    harness.sync("home")
    assert harness.passing() == 0
    assert harness.confirmed == set(range(6))
    judge(harness)


def test_nothing_passes_through_when_no_destination_can_be_reached() -> None:
    harness = in_touch()
    harness.send(4)
    for site in ("east", "west"):
        harness.set_reachable(site, reachable=False)
    harness.sync("home")
    assert harness.stored_at_home() == 6
    assert harness.confirmed == set(range(6))
    judge(harness)


def rows_asked(harness: Harness) -> list[int]:
    """How many rows each question is about that is under way."""
    questions = [message for _, _, message in harness.under_way if isinstance(message, Stored)]
    return [sum(high - low for low, high in each.intervals) for each in questions]


def test_half_of_what_is_under_way_is_one_question_and_the_rest_another() -> None:
    harness = in_touch()
    harness.set_reachable("west", reachable=False)
    harness.under_way.clear()
    for _ in range(6):
        harness.send(2)
        forward = harness.under_way.pop()[2]
        harness.carry_out("east", harness.brokers["east"].received("home", forward, harness.now))
    harness.sync("east")
    assert rows_asked(harness) == [6]
    # The rest is asked about when that is decided.
    harness.deliver(0, keep=False)
    harness.sync("home")
    harness.deliver(0, keep=False)
    assert rows_asked(harness) == [6]
    harness.run(10)
    assert harness.confirmed == set(range(14))
    judge(harness)


def test_a_confirmation_goes_with_the_next_question_and_alone_if_there_is_none() -> None:
    harness = in_touch()
    harness.set_reachable("west", reachable=False)
    harness.send(2)
    harness.run(10)
    (destination,) = [
        each
        for each in harness.brokers["home"].aliases["orders"].destinations
        if each.broker == "east"
    ]
    # East knows, and neither its note nor its word on it is in a hurry.
    assert destination.decided.span == 3
    east = harness.brokers["east"]
    harness.now += PARAMETERS.piggyback_ns
    harness.carry_out("east", east.deadline(harness.now))
    harness.sync("east")
    assert not harness.under_way
    harness.send(2)
    harness.run_forwards()
    (question,) = [message for _, _, message in harness.under_way if isinstance(message, Stored)]
    assert sum(high - low for low, high in question.resolved) == 3
    harness.run(10)
    assert destination.decided.span == 2
    for _ in range(2):
        harness.now += PARAMETERS.piggyback_ns
        harness.carry_out("east", east.deadline(harness.now))
        harness.sync("east")
    (confirmed,) = [message for _, _, message in harness.under_way if isinstance(message, Resolved)]
    assert sum(high - low for low, high in confirmed.intervals) == 2
    judge(harness)


def test_a_crash_before_the_delayed_note_leaves_rows_prepared_and_nothing_else() -> None:
    harness = in_touch()
    harness.send(4)
    harness.run(40)
    assert harness.confirmed == set(range(6))
    assert sorted(harness.stored("east") + harness.stored("west")) == list(range(6))
    for site in NAMES[1:]:
        harness.crash(site, Random(1))
    prepared = [harness.brokers[site].queues["work"].prepared.rows for site in NAMES[1:]]
    assert sum(prepared) == 6
    judge(harness)
    assert sorted(harness.stored("east") + harness.stored("west")) == list(range(6))


def test_a_question_waits_for_its_half_only_for_a_moment() -> None:
    harness = in_touch()
    harness.set_reachable("west", reachable=False)
    harness.under_way.clear()
    east = harness.brokers["east"]
    for _ in range(3):
        harness.send(2)
        forward = harness.under_way.pop()[2]
        harness.carry_out("east", east.received("home", forward, harness.now))
    (first,) = harness.stores["east"].sync(1).durable
    harness.carry_out("east", east.resolved(first, None, harness.now))
    assert not harness.under_way
    harness.now += HALF_WITHIN_NS
    assert east.next_deadline() == harness.now
    harness.carry_out("east", east.deadline(harness.now))
    assert rows_asked(harness) == [2]
    judge(harness)


def test_an_unanswered_question_is_asked_again_with_what_came_since() -> None:
    harness = in_touch()
    harness.set_reachable("west", reachable=False)
    for _ in range(4):
        harness.send(1)
        harness.run_forwards()
        harness.under_way.clear()
    harness.run(40)
    assert harness.confirmed == {0, 1}
    judge(harness)
    assert harness.confirmed == set(range(6))


def test_a_full_queue_refuses_what_is_forwarded_and_not_what_is_repeated() -> None:
    harness = Harness(depth_limit_messages=3)
    harness.set_reachable("west", reachable=False)
    harness.send(2)
    harness.run(40)
    harness.send(2)
    harness.run(40)
    alias = harness.brokers["home"].aliases["orders"]
    assert harness.confirmed == {0, 1, 2, 3}
    assert sorted(harness.stored("east")) == [0, 1]
    assert "is full (depth_limit_messages)" in alias.explain(harness.now)
    judge(harness)
    assert len(harness.stored("west")) == 2
