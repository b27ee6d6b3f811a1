"""The claims on a source's logs: replaced by each statement, saved, and confirmed when safe."""

from __future__ import annotations

import pytest

from penstock.core.machine import Effect, PersistFailed, PersistState
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.messages import Acknowledgement, ClaimsSaved, DurableClaim
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.source import source_holds
from penstock.services.guaranteed.source.holds import Holds
from penstock.services.guaranteed.source.pubend import Pubend
from penstock.services.guaranteed.source.source_holds import SourceHolds

CLAIM = DurableClaim(30, "durable subscription 's'")


class Bench:
    """Two pubends whose disk writes when the test says so."""

    def __init__(self) -> None:
        self.pubends = {name: self._pubend(name) for name in ("p", "q")}
        self.holds = SourceHolds(Tokens(), self.pubends)
        self.orders: list[PersistState] = []

    def _pubend(self, name: str) -> Pubend:
        return Pubend(
            name,
            GuaranteedParameters(),
            Tokens(),
            log_bounds=None,
            saved_producers=None,
            holds=Holds(),
            query_phase=0.0,
            now=0,
        )

    def state(
        self, number: int, *, epoch: int = 1, confirm: bool = True, **claims: DurableClaim
    ) -> ClaimsSaved | None:
        out: list[Effect] = []
        message = Acknowledgement("pb", "sb", epoch, number, {}, claims, confirm)
        answer = self.holds.stated(message, 0, out)
        self.orders += [effect for effect in out if isinstance(effect, PersistState)]
        return answer

    def save(self, failure: str = "") -> list[ClaimsSaved]:
        order = self.orders.pop(0)
        failed = PersistFailed(order.token, failure) if failure else None
        return self.holds.resolved(order.token, failed)


def answer(number: int, epoch: int = 1) -> ClaimsSaved:
    return ClaimsSaved("pb", "sb", epoch, number)


def test_a_claim_is_confirmed_when_it_is_on_disk() -> None:
    bench = Bench()
    assert bench.state(1, p=CLAIM) is None
    assert list(bench.orders[0].values) == ["pubend/p/holds"]

    assert bench.save() == [answer(1)]
    assert bench.pubends["p"].holds.durable_of("sb") == CLAIM


def test_a_statement_that_changes_nothing_is_confirmed_at_once() -> None:
    bench = Bench()
    bench.state(1, p=CLAIM)
    bench.save()

    assert bench.state(2, p=CLAIM) == answer(2)
    assert bench.orders == []


def test_a_statement_that_changes_nothing_waits_for_what_is_being_written() -> None:
    bench = Bench()
    bench.state(1, p=CLAIM)

    assert bench.state(2, p=CLAIM) is None
    assert bench.save() == [answer(1), answer(2)]


def test_a_claim_that_is_missing_in_a_statement_is_released() -> None:
    bench = Bench()
    bench.state(1, p=CLAIM, q=CLAIM)
    bench.save()
    bench.state(2, q=CLAIM)

    assert bench.save() == [answer(2)]
    assert bench.pubends["p"].holds.durable_of("sb") is None
    assert bench.pubends["q"].holds.durable_of("sb") == CLAIM


def test_a_statement_that_comes_late_is_ignored() -> None:
    bench = Bench()
    bench.state(5, p=CLAIM)
    bench.save()

    assert bench.state(4) is None
    assert bench.pubends["p"].holds.durable_of("sb") == CLAIM
    bench.state(1, epoch=2)
    assert bench.pubends["p"].holds.durable_of("sb") is None, "the edge was started anew"


def test_what_could_not_be_saved_is_saved_with_the_next_statement() -> None:
    bench = Bench()
    bench.state(1, p=CLAIM)
    assert bench.save("the disk is full") == []

    assert bench.state(2, p=CLAIM) is None
    assert bench.save() == [answer(2)]


def test_the_edges_that_a_source_remembers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_holds, "MAX_EDGES", 1)
    bench = Bench()
    bench.state(1, p=CLAIM)
    bench.save()
    liar = Acknowledgement("pb", "made up", 1, 1, {}, {"p": CLAIM}, True)

    assert bench.holds.stated(liar, 0, []) is None
    assert bench.pubends["p"].holds.durable_of("made up") is None
    assert bench.state(2, p=CLAIM) == answer(2)
