"""The answer to ``penstock why``, for people."""

from __future__ import annotations

from penstock.services.queues.alias.alias_queue import AliasQueue
from penstock.services.queues.parameters import AliasConfig, QueueConfig
from penstock.services.queues.queue.queue import Queue
from penstock.services.queues.status import status_of
from penstock.services.queues.why_text import why_text


def test_a_queue_says_what_waits_and_what_is_wrong(make_context):
    context = make_context()
    queue = Queue(QueueConfig("work"), context)
    text = why_text(status_of(queue, context.now))
    assert text.startswith("work: 0 messages wait, 0 consumers hold 0")
    assert "problem" not in text
    queue.journal.closed_because = "sync failed"
    assert "problem:    it takes nothing more" in why_text(status_of(queue, context.now))


def test_an_alias_queue_says_what_each_destination_does(make_context):
    context = make_context()
    alias = AliasQueue(AliasConfig("orders", ("work@east",)), context)
    text = why_text(status_of(alias, context.now))
    assert "flow-control, improved law, every 1 s" in text
    assert "work@east: gets nothing: broker 'east' cannot be reached" in text
    (east,) = alias.destinations
    east.reachable, east.consumers = True, 1
    assert "consumes at an unknown rate" in why_text(status_of(alias, context.now))
