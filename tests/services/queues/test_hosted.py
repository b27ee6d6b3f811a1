"""The queues of one broker by name, and their deadlines."""

from __future__ import annotations

import pytest

from penstock.core.machine import InvariantBroken
from penstock.services.queues.alias.alias_queue import AliasQueue
from penstock.services.queues.hosted import HostedQueues
from penstock.services.queues.parameters import AliasConfig, QueueConfig
from penstock.services.queues.queue.queue import Queue


@pytest.fixture
def hosted(make_context):
    context = make_context()
    queues = [Queue(QueueConfig(name), context) for name in ("work", "more")]
    aliases = [AliasQueue(AliasConfig("orders", ("work@east",)), context)]
    return HostedQueues("b", queues, aliases)


def test_queues_are_found_by_name_and_by_log(hosted):
    assert hosted.find("work") is hosted.queues["work"]
    assert hosted.find("orders") is hosted.aliases["orders"]
    assert hosted.find("other") is None
    assert hosted.owner_of("alias/orders") is hosted.aliases["orders"]
    assert hosted.owner_of(None) is None
    assert [each.name for each in hosted.all()] == ["work", "more", "orders"]


def test_an_unknown_name_lists_the_known_ones(hosted):
    assert hosted.no_such_queue("x") == "broker 'b' has no queue 'x'; it has more, work, orders"
    assert (
        HostedQueues("b", [], []).no_such_queue("x") == "broker 'b' has no queue 'x'; it has none"
    )


def test_the_earliest_deadline_is_known_and_due_once(hosted):
    queue = hosted.queues["work"]
    assert hosted.next_deadline() is None
    queue.journal.request_checkpoint()
    hosted.changed(queue)
    at = queue.next_deadline()
    assert hosted.next_deadline() == at
    assert hosted.due(at - 1) == []
    assert hosted.due(at) == [queue]
    assert hosted.due(at) == []


def test_every_queue_is_checked(hosted):
    hosted.check_invariants()
    hosted.aliases["orders"].rows.undecided.add(1, 2)
    with pytest.raises(InvariantBroken):
        hosted.check_invariants()
