from __future__ import annotations

from penstock.services.guaranteed.staging.staged_epoch import (
    Decision,
    PublishingEpoch,
    SinkState,
    is_sink_name,
    producer_of,
    sink_of,
)

DECISION = Decision(3, "p", 10, 5, ((0, 2), (7, 10)))


def test_pieces_are_published_in_order_under_consecutive_numbers() -> None:
    publishing = PublishingEpoch(DECISION)
    assert (publishing.next_piece, publishing.sequence) == ((0, 2), 10)

    publishing.piece_published()
    assert (publishing.next_piece, publishing.sequence) == ((7, 10), 12)

    publishing.piece_published()
    assert publishing.next_piece is None


def test_the_rows_of_a_lost_piece_are_counted_and_keep_their_numbers() -> None:
    publishing = PublishingEpoch(DECISION)
    publishing.piece_lost()

    assert (publishing.lost_rows, publishing.sequence) == (2, 12)


def test_an_epoch_is_covered_once_it_is_decided() -> None:
    assert not SinkState().covers(0)
    assert SinkState(2, 10, DECISION).covers(3)
    assert not SinkState(2, 10).covers(3)


def test_the_producer_name_of_a_sink_can_be_recognised() -> None:
    assert is_sink_name(producer_of("s"))
    assert sink_of(producer_of("s")) == "s"
    assert not is_sink_name("s")
