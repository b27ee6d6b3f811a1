import pytest

from penstock.client.rows import Processing, RowBatch, RowMessage
from penstock.content.rows.batch import Batch


@pytest.fixture
def batch() -> RowBatch:
    rows = [({"n": 1, "topic": "a"}, b"x" * 40), ({"n": "two"}, b"")]
    return RowBatch(Batch.decode(Batch.from_rows(rows).encode()))


def test_columns_hold_none_where_a_message_has_no_value(batch: RowBatch) -> None:
    assert len(batch) == 2
    assert batch.column("n") == [1, "two"]
    assert batch.column("topic") == ["a", None]
    assert batch.column("elsewhere") == [None, None]


def test_a_message_reads_its_row(batch: RowBatch) -> None:
    first, second = RowMessage(batch, 0), RowMessage(batch, 1)
    assert (first["n"], first.get("topic"), second.get("topic", "none")) == (1, "a", "none")
    assert "topic" in first
    assert "topic" not in second
    assert bytes(first.payload_view) == first.payload == b"x" * 40
    assert second.attributes == {"n": "two"}
    with pytest.raises(KeyError, match="topic"):
        second["topic"]


def test_processing_calls_what_became_of_the_block() -> None:
    called: list[str] = []
    processing = Processing("m", lambda: called.append("done"), lambda: called.append("failed"))
    with processing as subject:
        assert subject == "m"
    with pytest.raises(LookupError), processing:
        raise LookupError
    assert called == ["done", "failed"]
