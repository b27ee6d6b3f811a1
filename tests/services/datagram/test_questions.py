"""A broker passes questions on to publishers, and answers back to those who asked."""

from __future__ import annotations

from penstock.core.machine import Send
from penstock.core.why import Asker, WhyRequest
from penstock.services.datagram.messages import (
    DatagramWhyAnswer,
    DatagramWhyQuestion,
)
from penstock.services.datagram.questions import MAX_OPEN_QUESTIONS, OpenQuestions


def asker(session: str = "asker") -> Asker:
    return Asker(session, WhyRequest("p", request=1), "datagram")


def test_only_the_session_that_was_asked_may_answer_and_only_once() -> None:
    questions = OpenQuestions()
    assert questions.ask(asker(), "publisher") == [Send("publisher", DatagramWhyQuestion(1))]
    answer = DatagramWhyAnswer(1, b"{}")
    assert questions.answer("other", answer) == []
    assert questions.answer("publisher", answer) == [asker().told(b"{}")]
    assert questions.answer("publisher", answer) == []


def test_a_publisher_that_disconnects_fails_its_questions() -> None:
    questions = OpenQuestions()
    questions.ask(asker(), "publisher")
    questions.ask(asker(), "another")
    failed = asker().refused("the publisher has disconnected")
    assert questions.session_closed("publisher") == [failed]
    assert questions.session_closed("publisher") == []
    assert questions.answer("another", DatagramWhyAnswer(2, b"{}")) != []


def test_an_asker_that_disconnects_gets_no_reply() -> None:
    questions = OpenQuestions()
    questions.ask(asker(), "publisher")
    assert questions.session_closed("asker") == []
    assert questions.answer("publisher", DatagramWhyAnswer(1, b"{}")) == []


def test_the_oldest_question_fails_when_too_many_are_open() -> None:
    questions = OpenQuestions()
    for number in range(MAX_OPEN_QUESTIONS):
        assert len(questions.ask(asker(f"asker-{number}"), "publisher")) == 1
    refused, asked = questions.ask(asker("last"), "publisher")
    assert isinstance(refused, Send)
    assert refused.link == "asker-0"
    assert refused.message.problem == "too many questions are open at this broker: ask again"
    assert asked == Send("publisher", DatagramWhyQuestion(MAX_OPEN_QUESTIONS + 1))
