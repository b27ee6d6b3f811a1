"""Publishers that wait take turns, and none fills the buffer for the others."""

from __future__ import annotations

from penstock.content.rows.batch import Batch
from penstock.services.guaranteed.messages import Publish
from penstock.services.guaranteed.source.waiting_publications import WaitingPublications


def publication(producer: str, number: int) -> Publish:
    return Publish(producer, number, Batch.from_rows([({"n": number}, b"x")]))


def taken(waiting: WaitingPublications) -> list[tuple[str, int]]:
    found = []
    while len(waiting):
        _, message, _ = waiting.next()
        found.append((message.producer, message.first_sequence))
    return found


def test_publishers_take_turns_and_each_keeps_its_order() -> None:
    waiting = WaitingPublications()
    for number in range(3):
        waiting.add("one", publication("flood", number), 0)
    waiting.add("two", publication("honest", 0), 0)
    waiting.add("two", publication("honest", 1), 0)

    assert taken(waiting) == [
        ("flood", 0),
        ("honest", 0),
        ("flood", 1),
        ("honest", 1),
        ("flood", 2),
    ]
    assert waiting.weight == 0


def test_what_waits_is_counted_for_each() -> None:
    waiting = WaitingPublications()
    message = publication("a", 0)
    waiting.add("one", message, 0)
    waiting.add("one", message, 0)
    waiting.add("two", publication("b", 0), 0)

    assert waiting.weight_of("one", "a") == 2 * message.batch.wire_size
    assert waiting.weight_of("one", "b") == 0
    assert len(waiting) == 3


def test_what_waited_of_a_publisher_that_left_is_forgotten() -> None:
    waiting = WaitingPublications()
    waiting.add("one", publication("a", 0), 0)
    waiting.add("two", publication("a", 7), 5)
    waiting.forget("one", "a")
    waiting.forget("one", "never there")

    assert taken(waiting) == [("a", 7)]
    assert waiting.weight == 0
