from datetime import UTC, datetime

import numpy as np
import pytest

from penstock.client.guaranteed.acknowledgement import Piece
from penstock.client.guaranteed.message import Message, MessageBatch
from penstock.client.rows import Processing
from penstock.content.rows.batch import Batch, Row
from penstock.content.rows.frame import Frame

TIME = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
TICK = 1767323045_678901_234

ROWS: list[Row] = [
    ({"topic": "a", "n": 1}, b"first"),
    ({"topic": "b", "n": "two"}, b""),
    ({"topic": "c"}, b"x" * 50),
]


def batch_of(rows: list[Row], ticks: list[int]) -> tuple[MessageBatch, list[int | None]]:
    acknowledged: list[int | None] = []
    content = Batch.decode(Batch.from_rows(rows).encode())
    frame = Frame(ticks[0], ticks[-1] + 1, np.array(ticks, dtype="<i8"), content)
    piece = Piece("p", frame.low, frame.high, frame.ticks)
    return MessageBatch(piece, frame, lambda _, row: acknowledged.append(row)), acknowledged


@pytest.fixture
def batch() -> MessageBatch:
    return batch_of(ROWS, [TICK, TICK + 5, TICK + 9])[0]


def test_a_batch_gives_its_messages_in_order(batch: MessageBatch) -> None:
    assert len(batch) == 3
    assert [message.payload for message in batch] == [b"first", b"", b"x" * 50]
    assert [message.tick for message in batch] == [TICK, TICK + 5, TICK + 9]
    assert batch.pubend == "p"
    assert len(batch.batch) == 3


def test_attributes_are_those_that_the_message_has(batch: MessageBatch) -> None:
    assert [message.attributes for message in batch] == [row[0] for row in ROWS]


def test_one_attribute_at_a_time(batch: MessageBatch) -> None:
    first, second, third = batch
    assert (first["topic"], first["n"], second["n"]) == ("a", 1, "two")
    assert third.get("n") is None
    assert third.get("n", 7) == 7
    assert "n" in first
    assert "n" not in third
    assert 3 not in third
    with pytest.raises(KeyError, match="n"):
        third["n"]
    assert batch.column("elsewhere") == [None, None, None]


def test_the_time_is_that_of_the_tick(batch: MessageBatch) -> None:
    assert next(iter(batch)).time == TIME


def test_payloads_can_be_viewed_without_a_copy(batch: MessageBatch) -> None:
    view = next(iter(batch)).payload_view
    assert isinstance(view, memoryview)
    assert bytes(view) == b"first"


def test_people_see_where_a_message_stands_and_what_it_says(batch: MessageBatch) -> None:
    first, _, third = batch
    assert repr(first) == f"Message('p', {TICK}, {{'n': 1, 'topic': 'a'}}, b'first')"
    assert repr(third).endswith("… (50 bytes))")
    assert "3 messages" in repr(batch)


def test_acknowledging_names_the_row() -> None:
    batch, acknowledged = batch_of(ROWS, [1, 2, 3])
    messages = list(batch)
    messages[2].ack()
    batch.ack()
    assert acknowledged == [2, None]


async def test_processing_acknowledges_only_what_succeeded() -> None:
    batch, acknowledged = batch_of(ROWS, [1, 2, 3])
    first, second, third = batch
    async with first.process():
        assert acknowledged == []
    assert acknowledged == [0]
    with second.process():
        pass
    assert acknowledged == [0, 1]
    with pytest.raises(LookupError, match="failed"):
        async with third.process():
            raise LookupError("failed")
    assert acknowledged == [0, 1]
    async with batch.process():
        pass
    assert acknowledged == [0, 1, None]


def test_processing_lets_an_exception_through() -> None:
    called: list[None] = []
    with pytest.raises(LookupError), Processing(None, lambda: called.append(None)):
        raise LookupError
    assert called == []


def test_messages_compare_by_identity(batch: MessageBatch) -> None:
    assert Message(batch, 0) != Message(batch, 0)
