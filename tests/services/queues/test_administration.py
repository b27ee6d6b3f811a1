"""Status, browsing, purging and destinations."""

from __future__ import annotations

import msgspec
import pytest

from penstock.core.machine import PersistFailed, PersistState
from penstock.core.tokens import Tokens
from penstock.services.queues.administration import Administration, with_saved_destinations
from penstock.services.queues.alias.alias_queue import AliasQueue
from penstock.services.queues.hosted import HostedQueues
from penstock.services.queues.messages import Browse, ChangeDestination, ListQueues, PurgeQueue
from penstock.services.queues.parameters import AliasConfig, QueueConfig
from penstock.services.queues.queue.queue import Queue
from penstock.services.queues.routing import Routes

NOW = 10**12
ORDERS = AliasConfig("orders", ("work@east",))


@pytest.fixture
def administration(make_context):
    context = make_context()
    queue, alias = Queue(QueueConfig("work"), context), AliasQueue(ORDERS, context)
    hosted = HostedQueues("b", [queue], [alias])
    for each in hosted.all():
        each.start(NOW, [])
    return Administration(hosted, Routes("b"), Tokens())


def ask(administration, message):
    out = []
    administration.handle("s", message, NOW, out)
    return out


def answer_of(effects):
    answer = effects[-1].message
    return msgspec.json.decode(answer.document), answer.problem


def test_all_queues_or_one_are_listed(administration):
    document, problem = answer_of(ask(administration, ListQueues(request=1)))
    assert ([each["name"] for each in document["queues"]], problem) == (["work", "orders"], "")
    document, _ = answer_of(ask(administration, ListQueues("orders", request=1)))
    assert (document["broker"], [each["kind"] for each in document["queues"]]) == ("b", ["alias"])
    document, problem = answer_of(ask(administration, ListQueues("other", request=1)))
    assert (document["queues"], "has no queue 'other'" in problem) == ([], True)


def test_an_alias_queue_cannot_be_browsed(administration):
    (answer,) = ask(administration, Browse("orders", request=1))
    assert "is an alias queue" in answer.message.problem
    (answer,) = ask(administration, Browse("other", request=1))
    assert "has no queue" in answer.message.problem
    (answer,) = ask(administration, Browse("work", request=1))
    assert answer.message.problem == ""


def test_an_unknown_queue_cannot_be_purged(administration):
    assert answer_of(ask(administration, PurgeQueue("work", request=1))) == ({"purged": 0}, "")
    assert "has no queue" in answer_of(ask(administration, PurgeQueue("other", request=1)))[1]


def test_a_change_of_destinations_is_answered_when_it_is_durable(administration):
    effects = ask(administration, ChangeDestination("orders", "work@west", request=1))
    (state,) = [each for each in effects if isinstance(each, PersistState)]
    out = []
    administration.resolved(state.token + 1, None, out)
    assert out == []
    administration.resolved(state.token, None, out)
    assert answer_of(out) == ({"destinations": ["work@east", "work@west"]}, "")
    assert with_saved_destinations(ORDERS, state.values).destinations == ("work@east", "work@west")
    assert with_saved_destinations(ORDERS, {}) is ORDERS


def test_a_change_that_may_not_be_durable_says_so(administration):
    effects = ask(administration, ChangeDestination("orders", "work@east", retire=True, request=1))
    (state,) = [each for each in effects if isinstance(each, PersistState)]
    out = []
    administration.resolved(state.token, PersistFailed(0, "sync failed", uncertain=True), out)
    assert (out[0].message.problem, out[0].message.uncertain) == ("sync failed", True)


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (ChangeDestination("other", "a@b", request=1), "has no alias queue 'other'"),
        (
            ChangeDestination("orders", "a@b", retire=True, request=1),
            "is not a destination of 'orders'",
        ),
        (ChangeDestination("orders", "nowhere", request=1), "not of the form queue@broker"),
    ],
)
def test_an_impossible_change_is_refused(administration, message, problem):
    assert problem in answer_of(ask(administration, message))[1]
