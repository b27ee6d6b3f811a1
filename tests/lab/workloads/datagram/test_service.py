"""The datagram service's part of scenario files: what is refused, and what is drawn."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock.content.selectors.parser import parse
from penstock.core.randomness import random_stream
from penstock.lab.run import run
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Broker, Fault, Link, Scenario
from penstock.lab.workloads.datagram.service import DatagramLab, random_selector
from penstock.lab.workloads.datagram.tables import RandomSelector
from penstock.lab.worlds.sim import SimRun


def with_client(**keys: Any) -> dict[str, Any]:
    """A scenario file with one client."""
    client = {"service": "datagram", "name": "c", "broker": "b", **keys}
    return {"name": "one", "duration_s": 1, "brokers": [{"name": "b"}], "clients": [client]}


def publisher(**keys: Any) -> dict[str, Any]:
    return with_client(role="publisher", **{"rate_msgs_per_s": 10.0, **keys})


RANDOM = {"attributes": 2, "values": 5, "zipf_exponent": 1.0, "weights": [0.5, 0.5]}


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (publisher(attributes={"n": "cycle:x"}), "attributes: 'cycle:x' needs a range"),
        (publisher(message_bytes=20), "message_bytes: .* too small"),
        (publisher(message_bytes=5000), "message_bytes: .* one datagram"),
        (publisher(rate_msgs_per_s=0.0), "rate_msgs_per_s: must not be 0"),
        (publisher(rate_msgs_per_s=[[1, 5], [0, 5]]), "rate_msgs_per_s: .* order of time"),
        (publisher(parameters={"law": "mine"}), "parameters.datagram.law"),
        (with_client(role="subscriber", selector="a ="), "selector: "),
        (with_client(role="subscriber", selector="a" * 600), "selector: .* at most 512"),
        (with_client(role="subscriber", selector="a = 1", random_selector=RANDOM), "not both"),
        (
            with_client(role="subscriber", random_selector={**RANDOM, "weights": [1, 1, 1]}),
            "random_selector.weights: .* at most 2",
        ),
        (
            with_client(role="subscriber", random_selector={**RANDOM, "weights": [0.0]}),
            "random_selector.weights: .* not only zeros",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(raw: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        parse_scenario(raw)


def test_random_selectors_have_as_many_comparisons_as_the_weights_say() -> None:
    wish = RandomSelector(attributes=5, values=50, zipf_exponent=0.8, weights=(1.0, 0.0, 3.0))
    drawn = [random_selector(wish, random_stream(1, str(place))) for place in range(400)]
    for selector in drawn:
        parse(selector)
    counts = [1 + selector.count(" AND ") for selector in drawn]
    assert set(counts) == {1, 3}
    assert 0.65 < counts.count(3) / len(counts) < 0.85
    assert sum("= 0" in selector for selector in drawn) > sum("= 9" in each for each in drawn)


@pytest.mark.parametrize(
    ("links", "single"),
    [
        ((("a", "b"), ("b", "c")), True),
        ((("a", "b"),), True),
        ((("a", "b"), ("b", "c"), ("c", "a")), False),
    ],
)
def test_order_is_judged_where_there_is_a_single_path(
    links: tuple[tuple[str, str], ...], single: bool
) -> None:
    scenario = Scenario(
        name="paths",
        duration_s=1,
        brokers=tuple(Broker(name=name) for name in "abc"),
        links=tuple(Link(between=pair) for pair in links),
    )
    assert DatagramLab().history(scenario).single_path is single


@pytest.mark.parametrize("seed", range(12))
def test_random_workloads_break_no_rule_whatever_happens_to_the_overlay(seed: int) -> None:
    random = Random(seed)
    names = ("a", "b", "c")
    part = DatagramLab().random_part(random, dict.fromkeys(names, 0.0))
    scenario = Scenario(
        name="random",
        duration_s=6.0,
        parameters=part.parameters,
        brokers=tuple(Broker(name=name) for name in names),
        links=(
            Link(between=("a", "b"), bandwidth_bytes_per_s=random.choice((0, 20_000))),
            Link(between=("b", "c"), jitter_ms=3.0, loss=random.choice((0.0, 0.05))),
        ),
        clients=part.clients,
        faults=(
            Fault(at_s=2.0, crash="b"),
            Fault(at_s=2.5, restart="b"),
            Fault(at_s=3.0, leave=random.choice(part.clients).name),
            Fault(at_s=3.5, cut=("a", "b")),
            Fault(at_s=4.0, mend=("a", "b")),
            Fault(at_s=4.5, drop_client=random.choice(part.clients).name),
        ),
    )
    result = run(SimRun(scenario, seed, checked=True))
    assert result.judgement.violations == 0, result.judgement.examples
    assert sum(count for _, what, count in result.histories["datagram"].totals() if what == "sent")
