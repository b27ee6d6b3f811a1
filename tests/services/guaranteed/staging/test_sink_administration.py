"""Listing and deleting sinks."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.core.machine import Effect, PersistFailed, PersistState, Send
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.staging.messages import MOST_LISTED, ForgetSink, ListSinks
from penstock.services.guaranteed.staging.sink_administration import SinkAdministration
from penstock.services.guaranteed.staging.sinks import Sinks
from penstock.services.guaranteed.staging.staged_epoch import Decision, SinkState


class Bench:
    """The sinks of a broker, and what their administration says."""

    def __init__(self, **states: SinkState) -> None:
        self.sinks = Sinks(5_000, {})
        for name, state in states.items():
            self.sinks.finished(name, state)
        self.administration = SinkAdministration(Tokens(), self.sinks)

    def ask(self, request: Any) -> Effect:
        out: list[Effect] = []
        self.administration.handlers[type(request)]("s", request, 0, out)
        (effect,) = out
        return effect

    def resolve(self, order: Effect, failure: PersistFailed | None = None) -> Any:
        assert isinstance(order, PersistState)
        assert self.administration.ordered(order.token)
        out: list[Effect] = []
        self.administration.resolved(order.token, failure, out)
        (effect,) = out
        assert isinstance(effect, Send)
        return effect.message


def test_a_deletion_is_saved_before_it_is_confirmed() -> None:
    bench = Bench(a=SinkState(3, 9))
    order = bench.ask(ForgetSink("a", request=4))
    assert isinstance(order, PersistState)
    assert order.values == {"sink/a": None}
    assert "a" in bench.sinks
    assert bench.resolve(order).problem == ""
    assert "a" not in bench.sinks


def test_a_deletion_that_was_not_saved_changes_nothing() -> None:
    bench = Bench(a=SinkState(3, 9))
    order = bench.ask(ForgetSink("a"))
    assert isinstance(order, PersistState)
    answer = bench.resolve(order, PersistFailed(order.token, "disk full", uncertain=True))
    assert answer.problem == "the deletion of sink 'a' was not saved: disk full"
    assert answer.uncertain
    assert bench.sinks.is_decided("a", 3)


def test_a_sink_that_is_used_meanwhile_stays() -> None:
    bench = Bench(a=SinkState(3, 9))
    order = bench.ask(ForgetSink("a"))
    bench.sinks.finished("a", msgspec.structs.replace(bench.sinks.state("a"), epoch=4))
    bench.resolve(order)
    assert bench.sinks.is_decided("a", 4)


def test_a_sink_that_is_publishing_is_not_deleted() -> None:
    bench = Bench(a=SinkState(decision=Decision(7, "p", 0, 2, ((0, 2),))))
    answer = bench.ask(ForgetSink("a"))
    assert isinstance(answer, Send)
    assert answer.message.problem == "sink 'a' is publishing epoch 7"


def test_a_sink_that_is_unknown_is_deleted_already() -> None:
    answer = Bench().ask(ForgetSink("a"))
    assert isinstance(answer, Send)
    assert answer.message.problem == ""


def test_a_long_list_is_cut_and_counted() -> None:
    bench = Bench(**{f"s{number}": SinkState(0, 1) for number in range(MOST_LISTED + 5)})
    answer = bench.ask(ListSinks())
    assert isinstance(answer, Send)
    assert len(answer.message.sinks) == MOST_LISTED
    assert (answer.message.total, answer.message.limit) == (MOST_LISTED + 5, 5_000)
