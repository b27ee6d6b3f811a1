"""Why a subscription is behind, as JSON."""

from __future__ import annotations

import msgspec

from penstock.content.selectors.parser import parse
from penstock.core.clock import SECOND
from penstock.services.guaranteed.edge.stream import EdgeStream
from penstock.services.guaranteed.edge.subscription import Subscription
from penstock.services.guaranteed.edge.subscription_why import (
    ReaderExplanation,
    SubscriptionExplanation,
    explain_subscription,
)
from penstock.services.guaranteed.laws.nack_window import FixedNackWindow
from penstock.services.guaranteed.parameters import GuaranteedParameters


def subscription() -> Subscription:
    made = Subscription(1, "s", parse(""))
    made.connect("client/1", 1000)
    return made


def catching_up(made: Subscription, pubend: str, start: int) -> None:
    parameters = GuaranteedParameters()
    made.catching_up[pubend] = EdgeStream(
        pubend, "TRUE", start, FixedNackWindow(1), parameters, receive_window=1
    )


def explained(made: Subscription, **horizons: int) -> ReaderExplanation:
    document = explain_subscription([made], "b", horizons, 10 * SECOND)
    account = msgspec.json.decode(document, type=SubscriptionExplanation)
    assert (account.subscription, account.broker) == ("s", "b")
    (reader,) = account.readers
    return reader


def test_a_live_subscription_has_nothing_that_holds_it_up() -> None:
    reader = explained(subscription(), p=9 * SECOND)
    assert (reader.slow, reader.catching_up, reader.behind_s) == (False, [], 0.0)
    assert reader.cause == "nothing holds it up"


def test_a_slow_one_says_since_when_and_how_far_it_is_behind() -> None:
    made = subscription()
    catching_up(made, "p", 3 * SECOND)
    catching_up(made, "q", 8 * SECOND)
    made.fell_behind(4 * SECOND)
    made.fell_behind(5 * SECOND)
    made.under_way_bytes, made.buffered_bytes = 900, 5000

    reader = explained(made, p=9 * SECOND, q=9 * SECOND)
    assert reader.slow
    assert (reader.slow_for_s, reader.times_slow, reader.behind_s) == (6.0, 2, 6.0)
    assert (reader.under_way_bytes, reader.window_bytes, reader.waiting_bytes) == (900, 1000, 5000)
    assert "reads more slowly than is published" in reader.cause


def test_one_that_started_in_the_past_is_not_called_slow() -> None:
    made = subscription()
    catching_up(made, "p", 3 * SECOND)
    reader = explained(made, p=9 * SECOND)
    assert not reader.slow
    assert reader.cause == "it started in the past and has not caught up"

    made.ends = {"p": 9 * SECOND}
    assert explained(made, p=9 * SECOND).cause == "it reads an interval of the past"


def test_one_whose_window_is_full_is_told_apart() -> None:
    made = subscription()
    made.buffered_bytes = 1
    assert "has not taken what fills its window" in explained(made).cause
