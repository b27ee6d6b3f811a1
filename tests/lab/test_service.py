"""The contract of every service in the laboratory, and the parameters of clients."""

from __future__ import annotations

import pytest

from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Client, Scenario
from penstock.lab.service import LabService, lab_services, overlaid, parameters_of
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.services.gossip.parameters import GossipParameters
from penstock.services.registry import descriptions


def test_every_service_is_in_the_laboratory() -> None:
    assert list(lab_services()) == [each.name for each in descriptions()]


@pytest.mark.parametrize("service", lab_services().values(), ids=lambda each: each.name)
def test_a_service_says_all_that_a_scenario_needs(service: LabService) -> None:
    assert service.roles
    for role, table in service.roles.items():
        assert role
        assert issubclass(table, Client)
        assert table.__struct_config__.frozen
        assert table.__struct_config__.forbid_unknown_fields
    kinds = [metric.kind for metric in service.metrics.values()]
    assert kinds[0] != "rule", "the first metric is what a run of the service is about"
    assert "rule" in kinds
    assert all(metric.meaning for metric in service.metrics.values())
    assert "delivered" in service.metrics


@pytest.mark.parametrize("service", lab_services().values(), ids=lambda each: each.name)
def test_a_new_history_is_empty_and_breaks_no_rule(service: LabService) -> None:
    history = service.history(Scenario(name="x", duration_s=1))
    assert (history.delivered, history.pending) == (0, 0)
    assert history.complete()
    judgement = history.judge()
    rules = {name for name, metric in service.metrics.items() if metric.kind == "rule"}
    assert judgement.broken.keys() <= rules <= judgement.broken.keys() | judgement.noted.keys()
    assert judgement.violations == 0
    assert list(history.totals()) == []
    for name, metric in service.metrics.items():
        if metric.kind != "rule":
            assert dict(history.events(name)) == {}, name


def test_a_service_may_not_run_as_arrays() -> None:
    guaranteed = lab_services()["guaranteed"]
    with pytest.raises(ScenarioError, match="'guaranteed' does not run as arrays; use --world sim"):
        guaranteed.arrays(Scenario(name="x", duration_s=1), 1, Telemetry())


def test_the_own_values_of_a_table_go_before_the_others() -> None:
    base = {"a": 1, "inner": {"x": 1, "y": 2}, "list": [1, 2]}
    own = {"inner": {"y": 3, "z": 4}, "list": [5], "b": 2}
    assert overlaid(base, own) == {
        "a": 1,
        "inner": {"x": 1, "y": 3, "z": 4},
        "list": [5],
        "b": 2,
    }
    assert base["inner"] == {"x": 1, "y": 2}
    assert overlaid({"a": {"x": 1}}, {"a": 5}) == {"a": 5}
    assert overlaid({"a": 5}, {"a": {"x": 1}}) == {"a": {"x": 1}}


def test_the_parameters_of_a_client_go_before_those_of_all() -> None:
    scenario = Scenario(
        name="x",
        duration_s=1,
        parameters={"gossip": {"fanout": 3, "buffer_events": 50}, "guaranteed": {}},
    )
    found = parameters_of(GossipParameters, scenario, "gossip", {"buffer_events": 90})
    assert found == GossipParameters(fanout=3, buffer_events=90)
    with pytest.raises(ScenarioError, match=r"^parameters\.gossip\.fanuot: unknown key; did you"):
        parameters_of(GossipParameters, scenario, "gossip", {"fanuot": 3})
