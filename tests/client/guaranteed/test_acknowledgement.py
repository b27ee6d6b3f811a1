from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.guaranteed.acknowledgement import Ledger, Piece
from penstock.core.machine import InvariantBroken


def test_a_piece_without_rows_is_done() -> None:
    piece = Piece("p", 10, 20)
    assert piece.unfinished_rows == 0
    assert piece.position == 20


def test_rows_done_in_order_move_the_position_to_the_next_row() -> None:
    piece = Piece("p", 10, 20, range(12, 15))
    assert piece.position == 10
    piece.finish(0)
    assert piece.position == 13
    piece.finish(1)
    piece.finish(2)
    assert piece.position == 20


def test_rows_done_out_of_order_wait_for_those_before() -> None:
    piece = Piece("p", 10, 20, range(12, 15))
    piece.finish(2)
    piece.finish(1)
    assert (piece.position, piece.unfinished_rows) == (10, 3)
    piece.finish(0)
    assert (piece.position, piece.unfinished_rows) == (20, 0)


def test_a_gap_between_pieces_is_silence() -> None:
    ledger = Ledger(5)
    ledger.hand(Piece("p", 10, 20, range(12, 13)))
    assert ledger.position() == 10
    assert ledger.taken == 20


def test_nothing_is_handed_over_twice() -> None:
    ledger = Ledger(5)
    ledger.hand(Piece("p", 5, 20))
    with pytest.raises(InvariantBroken):
        ledger.hand(Piece("p", 19, 30))


@given(
    sizes=st.lists(st.integers(0, 6), min_size=1, max_size=5),
    order=st.randoms(use_true_random=False),
    stop=st.integers(0, 30),
    bulk=st.booleans(),
)
def test_the_position_is_the_end_of_the_done_prefix(
    sizes: list[int], order: Random, stop: int, bulk: bool
) -> None:
    ledger = Ledger(0)
    pieces = []
    low = 0
    for size in sizes:
        pieces.append(Piece("p", low, low + 2 * size + 1, range(low + 1, low + 1 + size)))
        ledger.hand(pieces[-1])
        low = pieces[-1].high
    rows = [(piece, row) for piece in pieces for row in range(len(piece.ticks))]
    order.shuffle(rows)
    done = set()
    for piece, row in rows[:stop]:
        piece.finish(row)
        piece.finish(row)
        done.add(piece.ticks[row])
    if bulk:
        pieces[0].finish_below(len(pieces[0].ticks) // 2)
        done |= set(pieces[0].ticks[: len(pieces[0].ticks) // 2])
    assert ledger.position() == done_prefix_end(pieces, done)


def done_prefix_end(pieces: list[Piece], done: set[int]) -> int:
    """The definition, read aloud: the first row that is not done ends the prefix."""
    end = 0
    for piece in pieces:
        for row, tick in enumerate(piece.ticks):
            if tick not in done:
                return tick if row else piece.low
        end = piece.high
    return end


def test_whole_pieces_at_once() -> None:
    ledger = Ledger(0)
    first, second = Piece("p", 0, 10, range(3)), Piece("p", 10, 20, range(10, 13))
    ledger.hand(first)
    ledger.hand(second)
    second.finish_all()
    assert ledger.position() == 0
    first.finish_all()
    assert ledger.position() == 20
    assert ledger.unfinished_rows == 0
