"""A measurement that a run cannot have is refused before the run, with a suggestion."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.metrics import (
    SHORT_NAMES,
    all_rules,
    check_measurement,
    history_metric,
    known_metrics,
    recorded_metrics,
)
from penstock.lab.scenario.model import Measurement, Scenario
from penstock.lab.scenario.numbering import expanded
from penstock.lab.service import lab_services

GUARANTEED: list[dict[str, Any]] = [
    {"service": "guaranteed", "role": "subscriber", "name": "s", "count": 2, "broker": "b"},
    {
        "service": "guaranteed",
        "role": "publisher",
        "name": "p",
        "broker": "b",
        "pubend": "b.1",
        "rate_msgs_per_s": 5,
    },
]
PEER = {"service": "gossip", "name": "peer", "count": 3}


def scenario(*clients: dict[str, Any]) -> Scenario:
    raw = {
        "name": "x",
        "duration_s": 10,
        "brokers": [{"name": "b", "pubends": 1}],
        "clients": list(clients),
    }
    return expanded(parse_scenario(raw))


ONE = scenario(*GUARANTEED)
TWO = scenario(*GUARANTEED, PEER)


@pytest.mark.parametrize(
    "what",
    [
        {"metric": "delivered"},
        {"metric": "delivered", "subject": "s"},
        {"metric": "delivered", "subject": "s1"},
        {"metric": "delivered", "subject": "b", "from_s": 1, "to_s": 2},
        {"metric": "acknowledged_rate", "subject": "b.1"},
        {"metric": "delivered", "aggregate": "jain"},
        {"metric": "delivered", "aggregate": "until_at_least_s", "threshold": 5},
        {"metric": "delay_s", "aggregate": "p99"},
        {"metric": "lost"},
        {"metric": "lost", "service": "guaranteed"},
        {"metric": "announced_lost"},
        {"metric": "violations"},
        {"metric": "violations", "service": "guaranteed"},
        {"metric": "machine_failures"},
        {"metric": "link_bytes", "subject": "b->c"},
        {"metric": "link_rate"},
        {"metric": "sent_bytes", "node": "b", "aggregate": "increase"},
        {"metric": "doubt_horizon_lag_s", "aggregate": "until_at_most_s", "threshold": 1},
    ],
)
def test_what_a_run_has_is_accepted(what: dict[str, Any]) -> None:
    check_measurement(ONE, "expect[0]", Measurement(**what))


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (
            {"metric": "deliverd"},
            r"^expect\[0\]\.metric: there is no metric 'deliverd'; did you mean 'delivered'\?",
        ),
        ({"metric": "delay_s_rate"}, r"there is no metric 'delay_s_rate'"),
        ({"metric": "lost_rate"}, r"there is no metric 'lost_rate'"),
        (
            {"metric": "delivered", "subject": "t"},
            r"^expect\[0\]\.subject: no client is called so or belongs to 't'; known are",
        ),
        ({"metric": "delivered", "subject": "s2"}, r"belongs to 's2'; did you mean 's'\?"),
        (
            {"metric": "lost", "subject": "s"},
            r"^expect\[0\]: 'lost' is counted over the whole run; it takes no subject",
        ),
        ({"metric": "lost", "from_s": 1}, r"'lost' is counted over the whole run"),
        ({"metric": "lost", "to_s": 1}, r"'lost' is counted over the whole run"),
        ({"metric": "lost", "node": "b"}, r"'lost' is counted over the whole run"),
        ({"metric": "violations", "subject": "s"}, r"'violations' is counted over the whole run"),
        ({"metric": "lost", "aggregate": "max"}, r"aggregate: 'lost' is one number; remove it"),
        (
            {"metric": "delivered", "node": "b"},
            r"^expect\[0\]\.node: 'delivered' is measured at clients; choose them with subject",
        ),
        (
            {"metric": "delivered", "service": "gossip"},
            r"^expect\[0\]\.service: no client uses 'gossip'; known are guaranteed",
        ),
        ({"metric": "delivered", "from_s": 2, "to_s": 2}, r"to_s: must be later than from_s"),
        (
            {"metric": "delay_s", "aggregate": "until_at_most_s"},
            r"^expect\[0\]\.threshold: missing; until_at_most_s needs it",
        ),
        ({"metric": "delay_s", "threshold": 1}, r"threshold: goes with until_… only"),
        (
            {"metric": "delivered", "aggregate": "max"},
            r"^expect\[0\]\.aggregate: 'delivered' is a count; use count, rate, last_at_s, jain, ",
        ),
        (
            {"metric": "delivered", "aggregate": "until_at_most_s", "threshold": 1},
            r"'delivered' is a count",
        ),
        ({"metric": "delivered_rate", "aggregate": "mean"}, r"'delivered_rate' is a rate"),
        ({"metric": "delay_s", "aggregate": "jain"}, r"'delay_s' is no count"),
    ],
)
def test_what_a_run_does_not_have_is_refused(what: dict[str, Any], told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        check_measurement(ONE, "expect[0]", Measurement(**what))


def test_a_metric_of_two_services_needs_the_service() -> None:
    ambiguous = Measurement(metric="delivered")
    with pytest.raises(
        ScenarioError,
        match=r"^expect\[0\]\.metric: 'delivered' is measured by guaranteed, gossip; choose one",
    ):
        check_measurement(TWO, "expect[0]", ambiguous)
    for service in ("guaranteed", "gossip"):
        chosen = Measurement(metric="delivered", service=service)
        check_measurement(TWO, "expect[0]", chosen)
        found = history_metric(TWO, chosen)
        assert found is not None
        assert found[:2] == (service, "delivered")


def test_a_rate_is_found_by_the_name_of_its_count() -> None:
    found = history_metric(ONE, Measurement(metric="delivered_rate"))
    assert found is not None
    service, name, metric = found
    assert (service, name, metric.kind) == ("guaranteed", "delivered", "count")
    assert history_metric(ONE, Measurement(metric="link_rate")) is None
    assert history_metric(ONE, Measurement(metric="sent_bytes")) is None


def test_all_metrics_of_the_services_of_a_scenario_are_known() -> None:
    known = known_metrics(ONE)
    assert len(known) == len(set(known))
    assert set(known) >= {"violations", "machine_failures", *SHORT_NAMES, *recorded_metrics()}
    assert set(known) >= set(lab_services()["guaranteed"].metrics)


def test_every_rule_of_every_service_is_known() -> None:
    rules = all_rules()
    assert {"lost", "duplicated", "violations", "machine_failures"} <= set(rules)
    assert len(rules) == len(set(rules))
    assert "delivered" not in rules


def test_no_metric_of_a_history_is_called_like_one_of_telemetry() -> None:
    """The measurement of the history would hide the other."""
    for service in lab_services().values():
        assert not service.metrics.keys() & recorded_metrics(), service.name
