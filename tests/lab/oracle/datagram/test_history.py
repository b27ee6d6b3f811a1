"""What the applications of the datagram service saw, as metrics."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.rows.columns import AttributeValue
from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import selects
from penstock.core.clock import MILLISECOND, SECOND
from penstock.lab.oracle.datagram.history import DatagramHistory
from penstock.lab.oracle.datagram.participants import (
    Outcome,
    PublisherHistory,
    SubscriberHistory,
)
from penstock.lab.workloads.message_source import IDENTITY


class ListedSource:
    """Messages with these attributes, again and again."""

    producer_hash = 7

    def __init__(self, *rows: dict[str, AttributeValue]) -> None:
        self.rows = rows

    def attributes(self, number: int) -> dict[str, AttributeValue]:
        return self.rows[number % len(self.rows)]

    def payload(self, number: int) -> bytes:
        return IDENTITY.pack(self.producer_hash, number)


def sent_every_second(source: ListedSource, count: int) -> PublisherHistory:
    publisher = PublisherHistory("p", source)
    for number in range(count):
        publisher.submitted(number * SECOND)
        publisher.sent(number, number * SECOND)
    return publisher


def history_of(publisher: PublisherHistory, *subscribers: SubscriberHistory) -> DatagramHistory:
    history = DatagramHistory(single_path=True)
    history.add_publisher(publisher)
    for each in subscribers:
        history.add_subscriber(each)
    return history


def test_a_message_waits_until_it_has_an_outcome() -> None:
    publisher = PublisherHistory("p", ListedSource({}))
    history = history_of(publisher)
    numbers = [publisher.submitted(at) for at in (1, 2, 3, 4)]
    assert history.pending == 4
    publisher.sent(numbers[0], 9)
    publisher.refused(numbers[1])
    publisher.given_up(numbers[2])
    assert history.pending == 1
    assert history.events("submitted")["p"].at.tolist() == [1, 2, 3, 4]
    assert history.events("sent")["p"].at.tolist() == [9]
    assert history.events("refused")["p"].at.tolist() == [2]
    assert history.events("given_up")["p"].at.tolist() == [3]
    with pytest.raises(AssertionError, match="one outcome"):
        publisher.sent(numbers[1], 10)


def test_wanted_and_lost_messages_stand_at_the_time_of_sending() -> None:
    source = ListedSource({"n": 1}, {"n": 2})
    subscriber = SubscriberHistory("s", "n = 1")
    subscriber.in_force(0)
    history = history_of(sent_every_second(source, 6), subscriber)
    subscriber.received({"n": 1}, source.payload(2), 2 * SECOND, 2 * SECOND + 30 * MILLISECOND)
    assert history.events("wanted")["s"].at.tolist() == [0, 2 * SECOND, 4 * SECOND]
    assert history.events("lost")["s"].at.tolist() == [0, 4 * SECOND]
    delays = history.events("delay_s")["s"]
    assert delays.at.tolist() == [2 * SECOND + 30 * MILLISECOND]
    assert delays.values.tolist() == [0.03]
    totals = Counter({(name, metric): count for name, metric, count in history.totals()})
    assert totals["s", "wanted"] == 3
    assert totals["s", "lost"] == 2
    assert totals["s", "delivered"] == history.delivered == 1
    assert totals["p", "sent"] == 6


def test_nothing_is_wanted_while_the_subscription_is_not_in_force() -> None:
    subscriber = SubscriberHistory("s", "")
    history = history_of(sent_every_second(ListedSource({}), 10), subscriber)
    assert len(history.events("wanted")["s"].at) == 0
    subscriber.in_force(2 * SECOND)
    subscriber.in_force(3 * SECOND)
    subscriber.away(4 * SECOND)
    subscriber.away(5 * SECOND)
    subscriber.in_force(8 * SECOND)
    wanted = [2 * SECOND, 3 * SECOND, 8 * SECOND, 9 * SECOND]
    assert history.events("wanted")["s"].at.tolist() == wanted


def test_messages_that_were_not_sent_are_not_wanted() -> None:
    publisher = sent_every_second(ListedSource({}), 1)
    subscriber = SubscriberHistory("s", "")
    subscriber.in_force(0)
    history = history_of(publisher, subscriber)
    publisher.submitted(SECOND)
    publisher.refused(publisher.submitted(SECOND))
    assert publisher.count(Outcome.WAITING) == 1
    assert len(history.events("wanted")["s"].at) == 1


VALUES = st.one_of(
    st.booleans(), st.integers(-3, 3), st.sampled_from((0.0, 1.0, 2.5)), st.sampled_from(("a", "b"))
)
SELECTORS = ("", "x = 1", "x > 0 AND y <> 'a'", "x IS NULL OR y = 'b'", "x = TRUE", "y LIKE 'a%'")


@given(
    st.lists(st.dictionaries(st.sampled_from("xy"), VALUES), min_size=1, max_size=20),
    st.sampled_from(SELECTORS),
)
def test_wanted_is_what_the_definition_of_selectors_says(
    rows: list[dict[str, AttributeValue]], selector: str
) -> None:
    subscriber = SubscriberHistory("s", selector)
    subscriber.in_force(0)
    history = history_of(sent_every_second(ListedSource(*rows), len(rows)), subscriber)
    by_definition = [
        number * SECOND for number, row in enumerate(rows) if selects(parse(selector), row)
    ]
    assert history.events("wanted")["s"].at.tolist() == by_definition
