"""A small scenario of queues, and a way to change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.core.clock import SECOND, seconds
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Scenario
from penstock.lab.scenario.numbering import expanded
from penstock.lab.scenario.overrides import overridden
from penstock.lab.service import Stage

BEGAN_AT = 1_700_000_000 * SECOND

SMALL: dict[str, Any] = {
    "name": "small",
    "duration_s": 4,
    "brokers": [
        {"name": "home", "aliases": {"orders": {"destinations": ["work@east", "work@west"]}}},
        {"name": "east", "queues": {"work": {}, "spare": {}}},
        {"name": "west", "queues": {"work": {}}},
    ],
    "links": [{"between": ["home", "east"]}, {"between": ["home", "west"]}],
    "clients": [
        {
            "service": "queues",
            "role": "producer",
            "name": "p",
            "broker": "home",
            "queue": "orders",
            "start_s": 1,
            "rate_msgs_per_s": 200,
            "batch_rows": 10,
            "attributes": {"kind": "cycle:0..4"},
        },
        *(
            {
                "service": "queues",
                "role": "consumer",
                "name": site,
                "broker": site,
                "queue": "work",
            }
            for site in ("east", "west")
        ),
    ],
}


@pytest.fixture
def make_scenario() -> Callable[..., Scenario]:
    """The small scenario with values by path, with single tables."""

    def make(values: dict[str, Any] | None = None, **more: Any) -> Scenario:
        return expanded(parse_scenario({**overridden(SMALL, values or {}), **more}))

    return make


@pytest.fixture
def make_stage() -> Callable[..., Stage]:
    """What a client is told that starts at one second and ends at another."""

    def make(scenario: Scenario, start_s: float = 0.0, stop_s: float = 100.0) -> Stage:
        return Stage(
            scenario=scenario,
            seed=1,
            began_at=BEGAN_AT,
            now=BEGAN_AT + seconds(start_s),
            stop_at=BEGAN_AT + seconds(stop_s),
        )

    return make
