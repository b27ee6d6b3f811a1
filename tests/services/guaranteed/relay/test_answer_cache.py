from __future__ import annotations

import pytest

from penstock.content.rows.frame import Frame
from penstock.services.guaranteed.messages import LIVE_FILTER
from penstock.services.guaranteed.relay.answer_cache import AnswerCache

EMPTY_BYTES = Frame(0, 1).weight


def intervals(frames: list[Frame]) -> list[tuple[int, int]]:
    return [(frame.low, frame.high) for frame in frames]


def test_what_was_answered_is_found_again_with_the_gaps_beside_it() -> None:
    answers = AnswerCache(10 * EMPTY_BYTES)
    answers.add("a = 1", Frame(10, 20))
    answers.add("a = 1", Frame(30, 40))

    found, gaps = answers.find("a = 1", (0, 35))

    assert intervals(found) == [(10, 20), (30, 35)]
    assert gaps == [(0, 10), (20, 30)]


def test_an_answer_serves_what_its_filter_includes_and_nothing_else() -> None:
    answers = AnswerCache(10 * EMPTY_BYTES)
    answers.add("a > 1", Frame(0, 10))

    assert answers.find("a > 5", (0, 10))[1] == []
    for other in ("a > 0", "b = 1", LIVE_FILTER):
        assert answers.find(other, (0, 10)) == ([], [(0, 10)])


@pytest.mark.parametrize(
    ("filter_text", "frame"), [(LIVE_FILTER, Frame(0, 10)), ("a = 1", Frame(0, 10, final=True))]
)
def test_what_may_change_is_not_kept(filter_text: str, frame: Frame) -> None:
    answers = AnswerCache(10 * EMPTY_BYTES)
    answers.add(filter_text, frame)

    assert (len(answers), answers.weight) == (0, 0)


def test_the_oldest_of_the_filter_that_was_used_longest_ago_makes_room() -> None:
    answers = AnswerCache(3 * EMPTY_BYTES)
    answers.add("a = 1", Frame(0, 10))
    answers.add("b = 1", Frame(0, 10))
    answers.add("b = 1", Frame(10, 20))
    answers.find("a = 1", (0, 10))
    answers.add("a = 1", Frame(10, 20))

    assert answers.weight == 3 * EMPTY_BYTES
    assert intervals(answers.find("b = 1", (0, 20))[0]) == [(10, 20)]
    assert intervals(answers.find("a = 1", (0, 20))[0]) == [(0, 10), (10, 20)]


def test_a_bound_of_nothing_keeps_nothing() -> None:
    answers = AnswerCache(0)
    answers.add("a = 1", Frame(0, 10))

    assert (len(answers), answers.weight) == (0, 0)
