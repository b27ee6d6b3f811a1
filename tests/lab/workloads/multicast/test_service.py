"""The tables of the multicast service in a scenario file, and what is checked of them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.randomness import random_stream
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Measurement
from penstock.lab.scenario.numbering import expanded
from penstock.lab.telemetry.measure import measure
from penstock.lab.workloads.multicast.service import METRICS, TELEMETRY, MulticastLab
from penstock.lab.workloads.multicast.tables import GroupSender, awaited_members

from .groups import member, run_in, scenario, sender


@pytest.mark.parametrize(
    ("client", "problem"),
    [
        (sender("s", "a", "two words"), "clients 's'.groups: 'two words' is not a name"),
        (member("m", "a", ""), "clients 'm'.group: a group needs a name"),
        ({**sender("s", "a"), "groups": []}, "groups"),
        (sender("s", "a", rate_msgs_per_s=[[1, 5], [0, 5]]), "clients 's'.rate_msgs_per_s: the"),
        (sender("s", "a", wire_bytes=10), "wire_bytes = 10 is too small"),
        (sender("s", "a", attributes={"n": "cycle:5..0"}), "'cycle:5..0' is an empty range"),
        (sender("s", "a", max_in_flight=0), "max_in_flight"),
        (sender("s", "a", weigth=2), "did you mean 'weight'"),
    ],
)
def test_what_is_wrong_is_named(client: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        scenario(client)


def test_measurements_choose_clients_by_name_table_broker_or_group() -> None:
    what = expanded(scenario(member("m", "c"), sender("s", "a", "g", "h", count=2)))
    first, second = (each for each in what.clients if isinstance(each, GroupSender))
    assert first.subjects == {"s0", "s", "a", "g", "h"}
    assert second.subjects == {"s1", "s", "a", "g", "h"}


def test_a_sender_awaits_the_members_that_are_there_when_it_starts() -> None:
    what = scenario(
        member("early", "a"), member("late", "a", start_s=1.0), member("other", "a", "x"),
        member("gone", "a", stop_s=0.3), sender("s", "a", start_s=0.5),
    )  # fmt: skip
    (client,) = (each for each in what.clients if isinstance(each, GroupSender))
    assert awaited_members(what, client) == {"early"}


def test_rates_buffers_and_prices_are_measured() -> None:
    links = [
        {"between": ["a", "b"], "bandwidth_bytes_per_s": 250_000, "window_bytes": 20_000},
        {"between": ["b", "c"], "bandwidth_bytes_per_s": 125_000, "window_bytes": 20_000},
    ]
    greedy = sender("s", "a", wire_bytes=1000, max_in_flight=100)
    result = run_in("sim", scenario(member("m", "c"), greedy, links=links, duration_s=9.0))

    def value(metric: str, **keys: Any) -> float:
        return measure(result, Measurement(metric=metric, **keys))

    assert value("sent_rate", from_s=6, to_s=9) == pytest.approx(125, rel=0.05)
    assert value("sent") == value("confirmed") == value("submitted") == value("delivered")
    assert value("refused") == value("uncertain") == value("unsettled") == value("lost") == 0
    assert 0 < value("delay_s", aggregate="p50") < 2
    assert 5_000 < value("most_queued_bytes", subject="b->c") < 200_000
    assert value("most_queued_bytes", subject="c->b") == 0
    # 20 prices a second, each in a frame of 64 bytes.
    rate = value("link_price_bytes", subject="b->c", from_s=6, to_s=9, aggregate="rate")
    assert rate == pytest.approx(20 * 64, rel=0.1)
    assert value("prices_went_alone", subject="b->a", aggregate="last") > 50
    recorded = set(result.telemetry.metrics())
    assert recorded >= TELEMETRY - {"sender_sent_packets"}
    assert not recorded & METRICS.keys()


def test_random_parts_differ_and_are_the_same_again() -> None:
    brokers = {"b0": 0.0, "b1": 0.5}
    parts = [
        MulticastLab().random_part(random_stream(seed, "x"), brokers) for seed in (1, 1, *range(9))
    ]
    assert parts[0] == parts[1]
    assert len({repr(each) for each in parts}) > 5
    assert all({each.broker for each in part.clients} <= brokers.keys() for part in parts)
