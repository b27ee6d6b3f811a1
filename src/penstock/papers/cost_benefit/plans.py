"""The runs behind the table and the figures of the cost-benefit paper."""

from __future__ import annotations

from typing import Final

from penstock.papers.cost_benefit.runs import (
    FAR,
    MANY_SENDERS,
    STAR_SENDERS,
    RunPlan,
)
from penstock.services.multicast.parameters import Law

LAWS: Final[tuple[Law, ...]] = ("paper", "improved")


def _both(**options: object) -> dict[Law, RunPlan]:
    return {law: RunPlan(law=law, **options) for law in LAWS}  # type: ignore[arg-type]


SCENARIO_1: Final = _both(scenario="1")
SCENARIO_1_AT_ONCE: Final = _both(scenario="1", synchronised=True, most_seeds=2)
SCENARIO_2: Final = _both(scenario="2")
SCENARIO_2_AT_ONCE: Final = _both(scenario="2", synchronised=True, most_seeds=2)
DELAYED: Final = _both(scenario="2-delayed")
SCENARIO_3: Final = _both(scenario="3")
TCP: Final = RunPlan(scenario="3", engine="tcp")
FAR_AWAY: Final = _both(scenario="2", engine="arrays", latency_factor=FAR)
CHECKED: Final = _both(scenario="2", engine="arrays")
"""The same as ``SCENARIO_2``, to compare arrays with machines."""

STARS: Final = {
    (law, senders): RunPlan(
        senders=senders, law=law, engine="arrays", most_seeds=1000 if senders == 800 else 2
    )
    for law in LAWS
    for senders in STAR_SENDERS
}
CHECKED_SENDERS: Final = 20
CHECKED_STAR: Final = _both(senders=CHECKED_SENDERS, most_seeds=2)
"""Scenario 4 with the broker machines, 42 of them, to compare arrays with."""

MANY: Final = _both(senders=MANY_SENDERS, engine="arrays", most_seeds=1)

LOTTERY: Final = {
    "without": RunPlan(scenario="lottery", law="paper", randomised=False),
    "paper": RunPlan(scenario="lottery", law="paper"),
    "improved": RunPlan(scenario="lottery", law="improved"),
}

LONG_WEIGHT: Final = 5.0
"""Under the improved law as much as the five links of the long path: its price is then theirs."""

BENEFITS: Final[dict[str, dict[Law, RunPlan]]] = {
    "throughput": SCENARIO_3,
    "concave (√R)": _both(scenario="3", benefit="concave", most_seeds=1),
    "A to F weighted 5": _both(scenario="3", long_weight=LONG_WEIGHT, most_seeds=1),
}


def _as_arrays(**options: object) -> RunPlan:
    return RunPlan(law="paper", engine="arrays", most_seeds=2, **options)  # type: ignore[arg-type]


OTHER_LOTTERIES: Final = {
    ("2: fair share, all at once", 40): _as_arrays(scenario="2", synchronised=True),
    ("2: fair share, all at once", 100): _as_arrays(
        scenario="2", synchronised=True, lottery_ms=100
    ),
    ("4: 20 senders", 40): _as_arrays(senders=20),
    ("4: 20 senders", 100): _as_arrays(senders=20, lottery_ms=100),
}
OTHER_PERIODS: Final = {
    ("3: chain of five", 20): _as_arrays(scenario="3"),
    ("3: chain of five", 30): _as_arrays(scenario="3", shortest_period_ms=30),
    ("4: 5 senders", 20): _as_arrays(senders=5),
    ("4: 5 senders", 30): _as_arrays(senders=5, shortest_period_ms=30),
}
"""By run and milliseconds; the chosen values first, which a plan need not state."""


def all_plans() -> list[RunPlan]:
    """Every run."""
    pairs = (
        SCENARIO_1,
        SCENARIO_1_AT_ONCE,
        SCENARIO_2,
        SCENARIO_2_AT_ONCE,
        DELAYED,
        FAR_AWAY,
        CHECKED,
        CHECKED_STAR,
        MANY,
        *BENEFITS.values(),
    )
    plans = [plan for pair in pairs for plan in pair.values()]
    settled = (*OTHER_LOTTERIES.values(), *OTHER_PERIODS.values())
    return [*plans, TCP, *STARS.values(), *LOTTERY.values(), *settled]
