"""The gate at the pubend (Section 4): even spacing, and a change of rate while it is closed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import SECOND
from penstock.services.guaranteed.source.admission import Admission


def test_without_a_limit_everything_passes_at_once() -> None:
    gate = Admission()
    gate.passed(1_000_000, 0)

    assert gate.may_pass(0)
    assert gate.next_pass() is None


def test_publications_pass_evenly_spaced() -> None:
    gate = Admission()
    gate.set_rate(10.0, 0)
    passes = []
    for now in range(0, SECOND + 1, SECOND // 100):
        if gate.may_pass(now):
            gate.passed(1, now)
            passes.append(now)

    assert passes == [number * SECOND // 10 for number in range(11)]


def test_a_batch_closes_the_gate_for_all_of_its_rows() -> None:
    gate = Admission()
    gate.set_rate(10.0, 0)
    gate.passed(5, 0)

    assert not gate.may_pass(SECOND // 2 - 1)
    assert gate.may_pass(SECOND // 2)
    assert gate.next_pass() == SECOND // 2


def test_idle_time_is_not_saved_for_a_burst() -> None:
    gate = Admission()
    gate.set_rate(10.0, 0)
    gate.passed(1, 0)
    gate.passed(1, 60 * SECOND)

    assert not gate.may_pass(60 * SECOND + SECOND // 10 - 1)


@pytest.mark.parametrize(("rate", "opens_at"), [(5.0, 2 * SECOND), (20.0, SECOND // 2)])
def test_a_new_rate_stretches_or_shortens_what_the_gate_has_to_wait(
    rate: float, opens_at: int
) -> None:
    gate = Admission()
    gate.set_rate(10.0, 0)
    gate.passed(10, 0)
    gate.set_rate(rate, 0)

    assert gate.next_pass() == opens_at


def test_dropping_the_limit_opens_the_gate() -> None:
    gate = Admission()
    gate.set_rate(1.0, 0)
    gate.passed(100, 0)
    gate.set_rate(None, 0)

    assert gate.may_pass(0)


@given(
    rate=st.floats(1, 1000),
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=30),
)
def test_over_any_run_no_more_passes_than_the_rate_allows(rate: float, sizes: list[int]) -> None:
    gate = Admission()
    gate.set_rate(rate, 0)
    now = 0
    for rows in sizes:
        now = max(now, gate.next_pass() or 0)
        assert gate.may_pass(now)
        gate.passed(rows, now)

    # The last publication has passed, the gate is still closed for it.
    expected = sum(sizes[:-1]) * SECOND / rate
    assert abs(now - expected) <= len(sizes)
