"""Rates from what applications saw: the slowest receiver counts, and only within the window."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from penstock.core.clock import SECOND
from penstock.lab.oracle.history import counted
from penstock.papers.held_out.case import CaseFlow, Phase
from penstock.papers.held_out.rates import achieved

PHASE = Phase(0.0, 10.0, 20.0, {})


def result_of(arrivals: dict[str, list[float]]) -> Any:
    events = {
        name: counted(np.array([int(each * SECOND) for each in at]))
        for name, at in arrivals.items()
    }
    history = SimpleNamespace(events=lambda metric: events)
    return SimpleNamespace(
        histories={"datagram": history, "queues": history},
        instant=lambda at_s: int(at_s * SECOND),
    )


def test_the_slowest_receiver_counts() -> None:
    result = result_of({"a": [10 + each / 10 for each in range(100)], "b": [10.5, 11.5, 25.0]})
    flow = CaseFlow("d", "datagram", {}, 1.0, 500.0, receivers=("a", "b"))

    assert achieved(result, flow, PHASE).bytes_per_s == pytest.approx(2 * 500 / 10)


def test_an_even_flow_has_no_variation_and_a_burst_has_much() -> None:
    flow = CaseFlow("d", "datagram", {}, 1.0, 1.0, receivers=("a",))
    even = result_of({"a": [10.05 + each / 10 for each in range(100)]})
    burst = result_of({"a": [10 + each / 100 for each in range(100)]})

    assert achieved(even, flow, PHASE).variation == pytest.approx(0.0)
    assert achieved(burst, flow, PHASE).variation == pytest.approx(3.0)


def test_all_consumers_of_an_alias_queue_count_together() -> None:
    result = result_of({"one": [10.0, 12.0, 30.0], "other": [11.0]})
    flow = CaseFlow("all", "queues", {}, 1.0, 1.0)

    assert achieved(result, flow, PHASE).bytes_per_s == pytest.approx(0.3)


def test_nothing_arrived() -> None:
    flow = CaseFlow("d", "datagram", {}, 1.0, 1.0, receivers=("a",))
    assert achieved(result_of({"a": []}), flow, PHASE).bytes_per_s == 0.0
