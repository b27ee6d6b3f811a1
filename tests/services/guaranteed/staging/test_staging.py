"""Staging under any interleaving of crashes of the broker, its disk, and the job that uses it.

A job publishes numbered epochs, as a Spark query does: it stages the rows of each under names that
it never uses again, commits, and goes on when that is confirmed; whenever it is not sure, it does
the epoch again.  At the end every row must stand in the log once, epoch by epoch.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.core.clock import HOUR, MILLISECOND, SECOND, Instant
from penstock.core.machine import (
    CloseSession,
    Effect,
    LogRead,
    Persist,
    PersistFailed,
    PersistState,
    ReadLog,
    Send,
    TrimLog,
)
from penstock.core.message import Message
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.broker import GuaranteedBroker
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.staging.messages import (
    CommitStages,
    DropStages,
    EpochOpened,
    ForgetSink,
    ListSinks,
    OpenEpoch,
    RowsStaged,
    SinkForgotten,
    SinksListed,
    StageRows,
    StagesCommitted,
    StagesDropped,
)
from penstock.services.guaranteed.staging.staged_epoch import STAGING
from penstock.store.faulty import MemoryStore

PARAMETERS = GuaranteedParameters(stage_expiry_ns=HOUR, sink_limit=2)


def rows(epoch: int, stage: int, piece: int) -> Batch:
    return Batch.from_rows([({"row": f"{epoch}.{stage}.{piece}.{n}"}, b"") for n in range(2)])


class Harness:
    """One broker, its disk, and what it says to its clients."""

    def __init__(self, parameters: GuaranteedParameters = PARAMETERS) -> None:
        self.parameters = parameters
        self.now: Instant = 1000 * SECOND
        self.store = MemoryStore[Any](lambda entry: entry.frame.weight)
        self.said: list[tuple[str, Message]] = []
        self.start()

    def start(self) -> None:
        logs = {}
        for log in self.store.log_names():
            bounds = self.store.bounds(log)
            if bounds.end_high:
                logs[log] = (bounds.first_low, bounds.end_high, bounds.stored_bytes)
        self.broker = GuaranteedBroker(
            "a",
            ("p",),
            self.parameters,
            Tokens(),
            saved=self.store.load_state(),
            logs=logs,
            queued_bytes={},
            flow_bytes={},
            now=self.now,
        )
        self.carry_out(self.broker.start())

    def carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(link, message):
                    self.said.append((link, message))
                case Persist(token, log, entry):
                    self.store.append(token, log, entry.frame.low, entry.frame.high, entry)
                case PersistState(token, values):
                    self.store.set_state(token, values)
                case ReadLog(token, log, low, high, limit):
                    found = self.store.read(log, low, high, limit)
                    frames = tuple(record.data for record in found.records)
                    fact = LogRead(
                        token, frames, found.complete_to, found.complete_from, found.lost
                    )
                    self.carry_out(self.broker.log_read(fact, self.now))
                case TrimLog(log, below):
                    self.store.trim(log, below)
                case CloseSession():
                    raise AssertionError(effect)
        self.broker.check_invariants()

    def ask(self, message: Message, session: str = "job") -> None:
        self.carry_out(self.broker.received(session, message, self.now))

    def close(self, session: str) -> None:
        self.carry_out(self.broker.session_closed(session, self.now))

    def sync(self) -> None:
        commit = self.store.sync()
        for token in commit.durable:
            self.carry_out(self.broker.resolved(token, None, self.now))
        for failure in commit.failed:
            self.store.resume_after(failure)
            self.carry_out(
                self.broker.resolved(
                    failure.token,
                    PersistFailed(failure.token, failure.reason, failure.uncertain),
                    self.now,
                )
            )

    def elapse(self, duration: int) -> None:
        self.now += duration
        deadline = self.broker.next_deadline()
        if deadline is not None and deadline <= self.now:
            self.carry_out(self.broker.deadline(self.now))

    def crash(self, random: Random) -> None:
        self.store.crash(random)
        self.said.clear()
        self.now += MILLISECOND
        self.start()

    def published(self) -> list[str]:
        """The rows that are durable in the pubend's log, in order."""
        log = "pubend/p"
        if log not in self.store.log_names():
            return []
        bounds = self.store.bounds(log)
        found = self.store.read(log, bounds.first_low, bounds.end_high, 1 << 40)
        entries = [record.data for record in found.records]
        return [row["row"] for entry in entries for row in entry.frame.batch.attribute_rows()]


class Job:
    """Publishes epochs; does an epoch again whenever it is started anew."""

    EPOCHS, STAGES, PIECES = 3, 2, 2

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.attempt = 0
        self.epoch = 0
        self.begin()

    def begin(self) -> None:
        """A new process: it knows the epochs that were confirmed, and nothing else."""
        self.harness.close(f"job-{self.attempt}")
        self.attempt += 1
        self.session = f"job-{self.attempt}"
        self.parts = [(s, piece) for s in range(self.STAGES) for piece in range(self.PIECES)]
        self.held: dict[str, int] = {}
        self.asked: Message | None = None

    @property
    def done(self) -> bool:
        return self.epoch >= self.EPOCHS

    def step(self) -> None:
        """Hear the answer, if there is one, and say what comes next."""
        answers = [message for link, message in self.harness.said if link == self.session]
        self.harness.said.clear()
        for answer in answers:
            self.hear(answer)
        if self.asked is None and not self.done:
            self.asked = self.question()
            self.harness.ask(self.asked, self.session)

    def question(self) -> Message:
        if not self.parts:
            return CommitStages("query", self.epoch, tuple(sorted(self.held.items())), "p")
        stage, piece = self.parts[0]
        name = f"{stage}-{self.attempt}"
        batch = rows(self.epoch, stage, piece)
        return StageRows("query", self.epoch, name, self.held.get(name, 0), batch)

    def hear(self, answer: Message) -> None:
        if isinstance(answer, RowsStaged):
            if answer.problem:
                # The disk was full.
                self.begin()
                return
            if answer.decided:
                self.parts.clear()
            else:
                self.parts.pop(0)
                self.held[answer.stage] = answer.rows
        elif isinstance(answer, StagesCommitted):
            if answer.problem:
                # What was staged is gone, or an earlier attempt is being published.
                self.begin()
                return
            self.epoch += 1
            self.begin()
        self.asked = None

    def ask_again(self) -> None:
        """The connection was lost: the client repeats its question."""
        if self.asked is not None:
            self.harness.ask(self.asked, self.session)


def expected(epochs: int) -> list[str]:
    return [
        f"{epoch}.{stage}.{piece}.{n}"
        for epoch in range(epochs)
        for stage in range(Job.STAGES)
        for piece in range(Job.PIECES)
        for n in range(2)
    ]


STEPS = st.lists(
    st.sampled_from(
        ["step", "step", "step", "sync", "sync", "crash", "restart", "elapse", "full", "room"]
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(STEPS, st.integers(0, 2**32))
def test_every_epoch_is_published_once_and_whole(steps: list[str], seed: int) -> None:
    harness = Harness()
    job = Job(harness)
    random = Random(seed)
    for step in steps:
        match step:
            case "step":
                job.step()
            case "sync":
                harness.sync()
            case "elapse":
                harness.elapse(SECOND)
            case "crash":
                harness.crash(random)
                job.ask_again()
            case "restart":
                job.begin()
            case "full" | "room":
                harness.store.full = step == "full"
        # Never more than the epochs that the job has asked to commit, and nothing out of order.
        assert harness.published() == expected(Job.EPOCHS)[: len(harness.published())]
    harness.store.full = False
    for _ in range(400):
        job.step()
        harness.sync()
        harness.elapse(SECOND // 2)
        if job.done:
            break
    assert job.done, f"seed {seed}: {steps}"
    assert harness.published() == expected(Job.EPOCHS), f"seed {seed}: {steps}"


def settle(harness: Harness) -> list[Message]:
    """Sync and wait until nothing happens any more; what was said to the job."""
    for _ in range(20):
        harness.sync()
        harness.elapse(10 * MILLISECOND)
    said = [message for link, message in harness.said if link == "job"]
    harness.said.clear()
    return said


def test_nothing_is_visible_before_the_commit() -> None:
    harness = Harness()
    harness.ask(StageRows("query", 0, "s", 0, rows(0, 0, 0)))
    assert settle(harness) == [RowsStaged("query", 0, "s", 2)]
    assert harness.published() == []


def test_a_commit_that_is_repeated_changes_nothing() -> None:
    harness = Harness()
    harness.ask(StageRows("query", 0, "s", 0, rows(0, 0, 0)))
    settle(harness)
    for _ in range(2):
        harness.ask(CommitStages("query", 0, (("s", 2),)))
    assert settle(harness) == [StagesCommitted("query", 0, 2)]
    harness.ask(CommitStages("query", 0, (("s", 2),)))
    assert settle(harness) == [StagesCommitted("query", 0, 0)]
    harness.ask(StageRows("query", 0, "again", 0, rows(0, 0, 0)))
    assert settle(harness) == [RowsStaged("query", 0, "again", 0, decided=True)]
    assert len(harness.published()) == 2


def test_a_repeated_piece_is_staged_once() -> None:
    harness = Harness()
    for _ in range(2):
        harness.ask(StageRows("query", 0, "s", 0, rows(0, 0, 0)))
    settle(harness)
    harness.ask(StageRows("query", 0, "s", 0, rows(0, 0, 0)))
    assert settle(harness) == [RowsStaged("query", 0, "s", 2)]


def test_only_the_stages_that_the_commit_names_are_published() -> None:
    harness = Harness()
    for name in ("lost", "won"):
        harness.ask(StageRows("query", 0, name, 0, rows(0, 0, 0)))
    settle(harness)
    harness.ask(CommitStages("query", 0, (("won", 2),)))
    settle(harness)
    assert len(harness.published()) == 2
    bounds = harness.store.bounds(STAGING)
    assert bounds.first_low == bounds.end_high


def test_a_stage_that_is_not_there_is_told_and_nothing_is_decided() -> None:
    harness = Harness()
    harness.ask(StageRows("query", 0, "s", 0, rows(0, 0, 0)))
    settle(harness)
    harness.ask(CommitStages("query", 0, (("s", 2), ("t", 1))))
    (answer,) = settle(harness)
    assert isinstance(answer, StagesCommitted)
    assert "stage 't' of epoch 0 holds 0 rows instead of 1" in answer.problem
    assert harness.published() == []


def test_dropped_and_forgotten_stages_give_their_space_back() -> None:
    harness = Harness()
    harness.ask(StageRows("query", 0, "s", 0, rows(0, 0, 0)))
    settle(harness)
    harness.ask(DropStages("query", 0))
    assert settle(harness) == [StagesDropped("query", 0)]
    harness.ask(StageRows("query", 1, "s", 0, rows(0, 0, 0)))
    settle(harness)
    harness.elapse(HOUR)
    bounds = harness.store.bounds(STAGING)
    assert bounds.first_low == bounds.end_high
    harness.ask(CommitStages("query", 1, (("s", 2),)))
    (answer,) = settle(harness)
    assert isinstance(answer, StagesCommitted)
    assert answer.problem


def test_what_may_be_staged_is_bounded() -> None:
    harness = Harness(GuaranteedParameters(staging_limit_bytes=200))
    harness.ask(StageRows("query", 0, "s", 0, rows(0, 0, 0)))
    harness.ask(StageRows("query", 0, "t", 0, rows(0, 1, 0)))
    answers = settle(harness)
    assert "staging_limit_bytes (200)" in " ".join(
        answer.problem for answer in answers if isinstance(answer, RowsStaged)
    )


def test_names_are_bounded() -> None:
    harness = Harness()
    long = "x" * 513
    harness.ask(StageRows(long, 0, "s", 0, rows(0, 0, 0)))
    harness.ask(StageRows("query", 0, long, 0, rows(0, 0, 0)))
    harness.ask(CommitStages(long, 0, ()))
    harness.ask(DropStages(long, 0))
    answers = settle(harness)
    assert [getattr(answer, "problem", "") for answer in answers] == 4 * [
        "a name is longer than 512 characters"
    ]


def publish(harness: Harness, sink: str, epoch: int, *, once: bool = False) -> list[Message]:
    """Stage two rows and commit them; what the commit was answered."""
    harness.ask(StageRows(sink, epoch, "s", 0, rows(epoch, 0, 0)))
    settle(harness)
    harness.ask(CommitStages(sink, epoch, (("s", 2),), once=once))
    return settle(harness)


def test_no_number_of_other_sinks_makes_a_repeated_epoch_new() -> None:
    harness = Harness()
    publish(harness, "query", 0)
    for number in range(2_500):
        publish(harness, f"write {number}", 0, once=True)
        if number == 1_200:
            harness.crash(Random(0))
    assert [publish(harness, "other", 0), publish(harness, "query", 0)] == [
        [StagesCommitted("other", 0, 2)],
        [StagesCommitted("query", 0, 0)],
    ]
    (refused,) = publish(harness, "one too many", 0)
    assert isinstance(refused, StagesCommitted)
    assert "remembers 2 sinks (sink_limit)" in refused.problem
    assert harness.published().count("0.0.0.0") == 2_502
    (problem,) = harness.broker.problems(harness.now)
    assert "2 of 2 sinks are remembered" in problem


def test_a_sink_that_was_deleted_gets_new_numbers() -> None:
    harness = Harness()
    publish(harness, "a", 0)
    publish(harness, "b", 0)
    harness.ask(ForgetSink("a"))
    assert settle(harness) == [SinkForgotten("a")]
    harness.crash(Random(0))
    assert publish(harness, "a", 0) == [StagesCommitted("a", 0, 2)]
    assert len(harness.published()) == 6


def test_sinks_are_listed_by_their_last_use() -> None:
    harness = Harness()
    publish(harness, "a", 0)
    publish(harness, "b", 3)
    publish(harness, "a", 1)
    harness.crash(Random(0))
    harness.ask(ListSinks())
    (listed,) = settle(harness)
    assert isinstance(listed, SinksListed)
    assert [(each.name, each.pubend, each.epoch, each.publishing) for each in listed.sinks] == [
        ("b", "p", 3, False),
        ("a", "p", 1, False),
    ]
    assert (listed.total, listed.limit) == (2, 2)
    assert all(0 < harness.now - each.used_at < HOUR for each in listed.sinks)


def test_a_writer_learns_before_it_stages_whether_it_needs_to() -> None:
    harness = Harness()
    problem = "this broker hosts no pubend 'elsewhere' (it hosts: p)"
    harness.ask(OpenEpoch("query", 0, "elsewhere"))
    assert settle(harness) == [EpochOpened("query", 0, elsewhere=True, problem=problem)]
    harness.ask(OpenEpoch("query", 0, "p"))
    assert settle(harness) == [EpochOpened("query", 0)]
    publish(harness, "query", 0)
    harness.ask(OpenEpoch("query", 0))
    assert settle(harness) == [EpochOpened("query", 0, decided=True)]


def test_a_pubend_that_is_not_here_is_told() -> None:
    harness = Harness()
    harness.ask(CommitStages("query", 0, (), "elsewhere"))
    (answer,) = settle(harness)
    assert isinstance(answer, StagesCommitted)
    assert answer.problem == "this broker hosts no pubend 'elsewhere' (it hosts: p)"


def test_staged_rows_that_are_damaged_cannot_be_committed_after_a_restart() -> None:
    harness = Harness()
    harness.ask(StageRows("query", 0, "s", 0, rows(0, 0, 0)))
    settle(harness)
    harness.store.damage(STAGING, Random(0))
    harness.crash(Random(0))
    harness.ask(CommitStages("query", 0, (("s", 2),)))
    (refused,) = settle(harness)
    assert isinstance(refused, StagesCommitted)
    assert "holds 0 rows instead of 2" in refused.problem


def test_decided_rows_that_are_damaged_are_told_and_do_not_hold_up_the_others() -> None:
    harness = Harness()
    for name in ("s", "t"):
        harness.ask(StageRows("query", 0, name, 0, rows(0, 0, 0)))
    settle(harness)
    harness.store.damage(STAGING, Random(0))
    harness.ask(CommitStages("query", 0, (("s", 2), ("t", 2))))
    (told,) = settle(harness)
    assert isinstance(told, StagesCommitted)
    assert told.rows == 2
    assert "2 of the epoch's rows were damaged" in told.problem
    assert len(harness.published()) == 2
    harness.ask(CommitStages("query", 1, ()))
    (after,) = settle(harness)
    assert after == StagesCommitted("query", 1, 0)
