import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.errors import InvalidAttribute, MessageTooLarge, PublishRefusedError
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.parcel import NO_ROWS, Parcel, Shipment, ship_batch, ship_rows
from penstock.client.publishing.receipts import BatchReceipt, Receipt
from penstock.content.rows.batch import Batch, Row
from penstock.content.rows.row_buffer import PlainRowBuffer


def settle_all(shipments: list[Shipment]) -> None:
    sequence = 100
    for shipment in shipments:
        shipment.settle(BatchReceipt("p", sequence * 10, sequence, len(shipment.batch)))
        sequence += len(shipment.batch)


def filled(rows: list[Row]) -> Parcel:
    waiting = PlainRowBuffer(len(rows), 0)
    for attributes, payload in rows:
        waiting.put(dict(attributes), bytes(payload))
    return Parcel(waiting)


def test_rows_that_fit_travel_together() -> None:
    rows: list[Row] = [({"n": n}, b"x") for n in range(5)]
    parcel = filled(rows)
    (shipment,) = ship_rows(parcel, PublishLimits())
    assert shipment.batch.attribute_rows() == [{"n": n} for n in range(5)]
    assert not parcel.settled
    assert shipment.settle(BatchReceipt("p", 70, 7, 5))
    assert parcel.settled
    assert parcel.receipt(3) == Receipt("p", 73, 10)


def test_a_receipt_without_a_tick_has_none_for_any_row() -> None:
    assert BatchReceipt("p", None, 7, 5).receipt(3) == Receipt("p", None, 10)


def test_a_row_that_cannot_travel_is_refused_alone() -> None:
    rows: list[Row] = [({"n": n}, b"x") for n in range(9)]
    rows[4] = ({"n": object()}, b"x")  # type: ignore[dict-item]
    parcel = filled(rows)
    shipments = ship_rows(parcel, PublishLimits())
    assert [n["n"] for s in shipments for n in s.batch.attribute_rows()] == [
        0, 1, 2, 3, 5, 6, 7, 8,
    ]  # fmt: skip
    settle_all(shipments)
    assert parcel.settled
    with pytest.raises(InvalidAttribute, match="object"):
        parcel.receipt(4)
    assert [parcel.receipt(row).sequence for row in (0, 3, 5, 8)] == [100, 103, 104, 107]
    assert isinstance(parcel.failure, InvalidAttribute)
    with pytest.raises(InvalidAttribute):
        parcel.receipts()


def test_a_message_that_is_too_large_says_which_limit() -> None:
    limits = PublishLimits(message_bytes=1000)
    parcel = filled([({}, b"x"), ({}, b"x" * 2000)])
    shipments = ship_rows(parcel, PublishLimits(message_bytes=1000, batch_bytes=1500))
    assert len(shipments) == 1
    with pytest.raises(MessageTooLarge, match="message_bytes"):
        parcel.receipt(1)
    alone = Parcel(NO_ROWS)
    assert ship_batch(alone, Batch.from_rows([({}, b"x" * 2000)]), limits) == []
    assert alone.settled


@given(sizes=st.lists(st.integers(0, 400), min_size=1, max_size=40))
def test_rows_are_divided_until_they_fit(sizes: list[int]) -> None:
    limits = PublishLimits(batch_bytes=1000, message_bytes=10_000)
    rows: list[Row] = [({"n": n}, b"x" * size) for n, size in enumerate(sizes)]
    parcel = filled(rows)
    shipments = ship_rows(parcel, limits)
    assert [row["n"] for s in shipments for row in s.batch.attribute_rows()] == list(
        range(len(sizes))
    )
    assert all(len(s.batch) == 1 or s.batch.wire_size <= 1000 for s in shipments)
    settle_all(shipments)
    assert [parcel.receipt(row).sequence for row in range(len(rows))] == list(
        range(100, 100 + len(rows))
    )
    assert sum(receipt.count for receipt in parcel.receipts()) == len(rows)
    assert parcel.failure is None


def test_a_refusal_reaches_only_its_own_rows() -> None:
    parcel = Parcel(NO_ROWS)
    batch = Batch.from_rows([({"n": n}, b"x" * 300) for n in range(4)])
    first, second = ship_batch(parcel, batch, PublishLimits(batch_bytes=1100))
    assert not second.settle(PublishRefusedError("p", 2, 2, "full"))
    assert first.settle(BatchReceipt("p", 10, 0, 2))
    assert parcel.receipt(1).sequence == 1
    with pytest.raises(PublishRefusedError, match="full"):
        parcel.receipt(2)
