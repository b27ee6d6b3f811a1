"""Where the answer to one request came from."""

from __future__ import annotations

from penstock.services.guaranteed.edge.request import Request
from penstock.services.guaranteed.laws.answer_round_trips import AnswerOrigin


def answered(*origins: AnswerOrigin) -> Request:
    request = Request(0, 10, 10, 100, is_new=True)
    for origin in origins:
        request.answered(origin)
    return request


def test_before_it_is_answered_it_came_from_nowhere() -> None:
    assert answered().links < 0
    assert answered().took_since == 100


def test_of_several_parts_the_farthest_counts() -> None:
    request = answered(AnswerOrigin(1, 70), AnswerOrigin(3, 5), AnswerOrigin(2, 90))
    assert (request.links, request.took_since) == (3, 95)


def test_of_parts_from_one_distance_the_one_that_was_asked_for_first_counts() -> None:
    assert answered(AnswerOrigin(3, 5), AnswerOrigin(3, 40), AnswerOrigin(3, 7)).took_since == 60
