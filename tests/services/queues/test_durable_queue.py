"""What queues and alias queues have in common: recovery, admission, answers, checkpoints."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.core.machine import LogRead, Persist, PersistState, ReadLog, TrimLog
from penstock.core.tokens import Tokens
from penstock.services.queues.context import QueueContext
from penstock.services.queues.durable_queue import DurableQueue
from penstock.services.queues.messages import OpenSender, SenderOpened, SendReceipt, SendToQueue
from penstock.services.queues.parameters import QueueConfig, QueueParameters
from penstock.services.queues.queue.senders import ClientSender

NOW = 1000 * SECOND
SENDER = ClientSender("s", "p", "work")


class Recorder(DurableQueue):
    """Records what a subclass is asked to do."""

    def __init__(self, logs):
        context = QueueContext("b", QueueParameters(), Tokens(), {}, logs, NOW)
        super().__init__(QueueConfig("work"), "queue/work", context)
        self.calls = []

    def _place_recovered(self):
        self.calls.append("place recovered")

    def _resume(self, now, out):
        self.calls.append("resume")

    def _lose(self, lost):
        self.calls.append(("lose", lost))

    def _arrived(self, rows, now, out):
        self.calls.append(("arrived", rows.frame.low, rows.frame.high))

    def _note_resolved(self, token, failure, now, out):
        self.calls.append("note")

    def _step(self, now, out):
        self.calls.append("step")

    def _due(self, now, out):
        self.calls.append("due")

    def _next_due(self):
        return None

    def explain(self, now):
        return "nothing"

    def purge(self, now, out):
        return 0

    def check_invariants(self):
        pass

    def taken(self):
        calls, self.calls = self.calls, []
        return calls


@pytest.fixture
def queue():
    made = Recorder({})
    made.start(NOW, [])
    assert made.taken() == ["resume", "step"]
    return made


def test_rows_are_stored_then_arrive_then_are_answered(queue, make_batch):
    out = []
    queue.send(SENDER, SendToQueue("p", "work", 0, make_batch(3)), NOW, out)
    (order,) = out
    assert isinstance(order, Persist)
    answers = []
    queue.resolved(order.token, None, NOW, answers)
    assert queue.taken() == [("arrived", 1, 4), "note", "step"]
    assert answers[0].message == SendReceipt("p", "work", 0, 3, 1)


def test_requests_before_the_recovery_are_handled_in_order_after_it(make_rows, make_batch):
    queue, out = Recorder({"queue/work": (1, 4, 100)}), []
    queue.start(NOW, out)
    (read,) = out
    assert isinstance(read, ReadLog)
    answers = []
    queue.send(SENDER, SendToQueue("p", "work", 1, make_batch(2, 1)), NOW, answers)
    queue.open_sender(SENDER, OpenSender("p", "work"), NOW, answers)
    assert (queue.waiting_requests, answers, queue.is_ready) == (2, [], False)
    queue.log_read(LogRead(read.token, (make_rows(1, 3),), 4), NOW, answers)
    assert queue.is_ready
    assert queue.taken() == ["place recovered", "resume", "step"]
    assert queue.entries.rows == 3
    assert [each.message for each in answers] == [
        SendReceipt("p", "work", 1, 2, 0),
        SenderOpened("p", "work", 4),
    ], "the rows are repeats of recovered ones"


def test_bodies_that_are_lost_are_given_up(queue):
    out = []
    queue._bodies.need(1, out)
    queue.log_read(LogRead(out[0].token, (), 4, lost=((1, 4),)), NOW, out)
    assert queue.taken() == [("lose", ((1, 4),)), "step"]


def test_a_checkpoint_is_saved_when_it_is_due_and_the_journal_trimmed_then(queue, make_batch):
    out = []
    queue.send(SENDER, SendToQueue("p", "work", 0, make_batch(3)), NOW, out)
    queue.resolved(out[0].token, None, NOW, [])
    at = queue.next_deadline()
    assert at == NOW + SECOND
    saved = []
    queue.deadline(at, saved)
    (state,) = saved
    assert isinstance(state, PersistState)
    trimmed = []
    queue.resolved(state.token, None, at, trimmed)
    assert trimmed == [TrimLog("queue/work", 4)], "nothing here keeps the rows"
