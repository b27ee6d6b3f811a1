"""Where a subscription starts on a stream on which it has no position."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock.content.selectors.parser import parse
from penstock.core.trees import Tree
from penstock.services.guaranteed.edge.sources import SourceView
from penstock.services.guaranteed.edge.starting import claimed_from, first_tick
from penstock.services.guaranteed.edge.subscription import Subscription
from penstock.services.guaranteed.messages import SubscriptionConfirmed

CONFIRMED = 1000


def view(beginning: int = 100, earliest: int = 100) -> SourceView:
    made = SourceView("pb", Counter())
    made.takes([Tree("pb", "pb", "up", (), 1, ("p",))])
    made.confirm(
        SubscriptionConfirmed("pb", 1, {"p": CONFIRMED}, {"p": earliest}, {"p": beginning})
    )
    return made


def subscription(rule: str, time: int = 0, since: int | None = None) -> Subscription:
    made = Subscription(1, "s", parse(""))
    made.start, made.start_time, made.since, made.made_at = rule, time, since, 50
    return made


@pytest.mark.parametrize(
    ("rule", "time", "start"),
    [("now", 0, CONFIRMED), ("earliest", 0, 100), ("time", 400, 400), ("time", 5, 100)],
)
def test_before_it_is_in_force_the_rule_decides(rule: str, time: int, start: int) -> None:
    assert first_tick(subscription(rule, time), "p", view(), CONFIRMED) == start


@pytest.mark.parametrize(
    ("rule", "time", "since", "start"),
    [
        ("now", 0, 700, 700),
        ("now", 0, 20, 100),
        ("now", 0, 5000, CONFIRMED),
        ("earliest", 0, 700, 100),
        ("time", 400, 700, 400),
        ("time", 900, 700, 900),
    ],
)
def test_once_it_was_in_force_what_was_published_since_is_due(
    rule: str, time: int, since: int, start: int
) -> None:
    assert first_tick(subscription(rule, time, since), "p", view(), CONFIRMED) == start


@pytest.mark.parametrize(
    ("rule", "since", "start"), [("now", 200, 200), ("now", 20, 100), ("earliest", 200, 200)]
)
def test_what_is_due_and_was_trimmed_begins_below_the_log(
    rule: str, since: int, start: int
) -> None:
    """The edge tells the reader of the part below the log's start as lost."""
    trimmed = view(beginning=100, earliest=600)
    assert first_tick(subscription(rule, 0, since), "p", trimmed, CONFIRMED) == start


def test_a_durable_one_claims_a_stream_from_where_it_will_start_there() -> None:
    assert claimed_from(subscription("now")) == 50
    assert claimed_from(subscription("earliest")) == 0
    assert claimed_from(subscription("time", 30)) == 30
    assert claimed_from(subscription("time", 90)) == 50
