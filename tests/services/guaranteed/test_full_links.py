"""Publishers follow full links: networks, loads and processors for which nothing was tuned."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.curves import curve
from penstock.lab.telemetry.measure import measure
from penstock.lab.worlds.choice import world_of
from penstock.papers.gryphon.measures import PUBLISHED

DURATION_S = 50


def publisher(name: str, broker: str, **keys: Any) -> dict[str, Any]:
    return {
        "service": "guaranteed",
        "role": "publisher",
        "name": name,
        "broker": broker,
        "start_s": 2,
        "identity": "tick",
        **keys,
    }


def subscriber(name: str, broker: str, **keys: Any) -> dict[str, Any]:
    return {
        "service": "guaranteed",
        "role": "subscriber",
        "name": name,
        "broker": broker,
        **keys,
    }


def line(*links: tuple[int, float]) -> dict[str, Any]:
    """Brokers b0, b1, … in a row; each link has a bandwidth (0 is none) and a latency."""
    return {
        "name": "line",
        "duration_s": DURATION_S,
        "drain_s": 30,
        "brokers": [{"name": "b0", "pubends": 1}]
        + [{"name": f"b{number}"} for number in range(1, len(links) + 1)],
        "links": [
            {
                "between": [f"b{number}", f"b{number + 1}"],
                "bandwidth_bytes_per_s": bandwidth,
                "latency_ms": latency_ms,
            }
            for number, (bandwidth, latency_ms) in enumerate(links)
        ],
    }


def simulated(raw: dict[str, Any], seed: int = 7) -> RunResult:
    result = run(world_of("sim", parse_scenario(raw), seed=seed))
    assert measure(result, Measurement(metric="violations")) == 0
    return result


def published(result: RunResult, low_s: float, high_s: float, subject: str = "") -> float:
    wanted = Measurement(metric=PUBLISHED.metric, subject=subject) if subject else PUBLISHED
    rates = [rate for at_s, rate in curve(result, wanted, "rate") if low_s <= at_s < high_s]
    return sum(rates) / len(rates)


@pytest.mark.parametrize(
    ("links", "wire_bytes"),
    [
        ([(37_000, 40)], 300),
        ([(0, 2), (61_000, 130)], 700),
        ([(900_000, 25), (210_000, 3), (0, 9)], 1500),
    ],
)
def test_an_unpaced_publisher_settles_at_what_the_thinnest_link_takes(
    links: list[tuple[int, float]], wire_bytes: int
) -> None:
    raw = line(*links)
    raw["clients"] = [
        subscriber("s", f"b{len(links)}"),
        publisher("p", "b0", wire_bytes=wire_bytes, max_in_flight=400, batch_rows=4),
    ]
    result = simulated(raw)
    carries = min(bandwidth for bandwidth, _ in links if bandwidth) / wire_bytes
    for low_s in range(12, DURATION_S - 5, 5):
        assert published(result, low_s, low_s + 5) == pytest.approx(carries, rel=0.1)
    named = {record.detail for record in result.telemetry.records if record.metric == "throttle"}
    thinnest = min((bandwidth, place) for place, (bandwidth, _) in enumerate(links) if bandwidth)[1]
    link = f"b{thinnest}->b{thinnest + 1}"
    assert any('"rule":"full-link"' in each and f'"link":"{link}"' in each for each in named)
    assert not any('"link":"b' in each and f'"link":"{link}"' not in each for each in named)


def test_flows_of_different_demand_and_size_share_a_link_max_min_fairly() -> None:
    """p0 wants less than its share; what it leaves goes to the others equally, by bytes."""
    raw = line((0, 3), (90_000, 11))
    raw["brokers"][0]["pubends"] = 3
    raw["clients"] = [subscriber("s", "b2")] + [
        publisher(f"p{number}", "b0", pubend=f"b0.{number + 1}", wire_bytes=size, **rate)
        for number, (size, rate) in enumerate(
            [
                (400, {"rate_msgs_per_s": 30}),
                (300, {"rate_msgs_per_s": 500, "max_in_flight": 400}),
                (2000, {"rate_msgs_per_s": 90, "max_in_flight": 400}),
            ]
        )
    ]
    result = simulated(raw)
    rates = [published(result, 20, DURATION_S, f"b0.{number + 1}") for number in range(3)]
    assert rates[0] == pytest.approx(30, rel=0.03)
    assert rates[1] * 300 == pytest.approx(39_000, rel=0.1)
    assert rates[2] * 2000 == pytest.approx(39_000, rel=0.1)


def test_what_a_thin_link_does_not_want_does_not_cross_it() -> None:
    """Only a tenth of the stream is wanted behind the thin link: nobody is slowed down."""
    raw = line((0, 3), (20_000, 11))
    raw["clients"] = [
        subscriber("all", "b1"),
        subscriber("few", "b2", selector="topic = 'rare'"),
        publisher("p", "b0", rate_msgs_per_s=400, wire_bytes=300, attributes={"topic": "common"}),
        publisher("q", "b0", rate_msgs_per_s=20, wire_bytes=300, attributes={"topic": "rare"}),
    ]
    result = simulated(raw)
    assert published(result, 10, DURATION_S) == pytest.approx(420, rel=0.02)
    assert not [each for each in result.telemetry.records if each.metric == "throttle"]


def test_brokers_without_a_processor_slow_nobody_down() -> None:
    raw = line((0, 4), (0, 15))
    raw["clients"] = [subscriber("s", "b2"), publisher("p", "b0", rate_msgs_per_s=250)]
    raw["faults"] = [
        {
            "at_s": 5 + number / 10,
            "pause": {"broker": broker, "for_s": 0.27, "every_s": 0.31, "until_s": 45},
        }
        for number, broker in enumerate(["b2", "b1"])
    ] + [{"at_s": 25, "pause": {"broker": "b2", "for_s": 3}}]
    result = simulated(raw)
    assert published(result, 5, 45) >= 0.9 * 250


def test_a_subscriber_that_comes_to_a_full_link_is_soon_live() -> None:
    """What it has yet to read crosses the link beside live data, with the same right."""
    raw = line((250_000, 240), (0, 40))
    raw["duration_s"] = 40
    raw["brokers"][0]["pubends"] = 4
    raw["clients"] = [
        subscriber("others", "b1", selector="topic = 'other'"),
        subscriber("new", "b2", selector="topic = 'own'", start_s=8, start="earliest"),
        *(
            publisher(
                f"p{number}",
                "b0",
                pubend=f"b0.{number}",
                wire_bytes=4000,
                batch_rows=2,
                rate_msgs_per_s=120,
                max_in_flight=100,
                start_s=7.6 if number == 1 else 2,
                attributes={"topic": "own" if number == 1 else "other"},
            )
            for number in range(1, 5)
        ),
    ]
    result = simulated(raw)
    new = Measurement(metric="delivered_rate", subject="new", from_s=25, to_s=40)
    assert measure(result, new) > 0.85 * (250_000 / 4) / 4000


def test_a_pubend_that_wants_hardly_more_than_its_share_gets_it() -> None:
    """Most of the time only a message waits for its turn, behind those of the other pubend."""
    raw = line((1_559_404, 25.4), (192_869, 26.6), (0, 104))
    raw["brokers"][0]["pubends"] = 2
    keys = [
        {"pubend": "b0.1", "rate_msgs_per_s": 100.8, "wire_bytes": 1008, "batch_rows": 3},
        {"pubend": "b0.2", "rate_msgs_per_s": 104.7, "wire_bytes": 2171, "batch_rows": 2},
    ]
    raw["clients"] = [subscriber("s", "b3")] + [
        publisher(f"p{number}", "b0", start_s=0, max_in_flight=10 * each["batch_rows"], **each)
        for number, each in enumerate(keys)
    ]
    result = simulated(raw)
    for each in keys:
        rate = published(result, 15, 35, each["pubend"])
        assert rate * each["wire_bytes"] == pytest.approx(192_869 / 2, rel=0.1)
