"""What is kept of the answers of a destination."""

from __future__ import annotations

from penstock.core.clock import SECOND
from penstock.services.queues.alias.destination_load import ASK_AGAIN_NS, DestinationLoad
from penstock.services.queues.messages import LoadAnswer

NOW = 1000 * SECOND
ANSWER = LoadAnswer("east", "home", "orders", "work", 5, 1, 2.5)


def test_it_is_asked_again_only_after_some_time():
    load = DestinationLoad()
    instants = (NOW, NOW + ASK_AGAIN_NS - 1, NOW + ASK_AGAIN_NS)
    assert [load.ask(now) for now in instants] == [True, False, True]


def test_the_latest_answer_is_kept_with_its_time_until_the_destination_is_lost():
    load = DestinationLoad()
    load.answered(ANSWER, NOW)
    assert (load.answer, load.answered_at) == (ANSWER, NOW)
    load.ask(NOW)
    load.forget()
    assert load.answer is None
    assert load.ask(NOW), "at once when it can be reached again"
