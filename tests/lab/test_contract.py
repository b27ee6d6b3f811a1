"""One contract for both worlds: the same small scenarios, the same expectations."""

from collections.abc import Callable

import pytest

from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.expectations import judge_expectations
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Scenario
from penstock.lab.worlds.net import NetRun
from penstock.lab.worlds.sim import SimRun
from penstock.lab.worlds.world import World

MakeWorld = Callable[[Scenario, int], World]

ROW = {
    "duration_s": 3,
    "brokers": [{"name": "pb", "pubends": 2}, {"name": "ib"}, {"name": "sb"}],
    "links": [{"between": ["pb", "ib"]}, {"between": ["ib", "sb"]}],
}
PUBLISHER = {
    "service": "guaranteed",
    "role": "publisher",
    "name": "p",
    "broker": "pb",
    "rate_msgs_per_s": 100,
    "attributes": {"symbol": "choice:A,B,C", "n": "number:"},
}
EVERYTHING = {"service": "guaranteed", "role": "subscriber", "name": "s", "broker": "sb"}
NOTHING_WRONG = [
    {"metric": "violations", "at_most": 0},
    {"metric": "refused", "at_most": 0},
    {"metric": "unsettled", "at_most": 0},
    {"metric": "acknowledged", "at_least": 250},
]

SCENARIOS = {
    "relay": {
        **ROW,
        "clients": [
            EVERYTHING,
            {**EVERYTHING, "name": "selective", "selector": "symbol = 'A' AND n > 10"},
            {**EVERYTHING, "name": "local", "broker": "pb"},
            {**PUBLISHER, "count": 2, "pubend": "pb.{i+1}"},
        ],
    },
    "cut": {
        **ROW,
        "clients": [EVERYTHING, PUBLISHER],
        "faults": [
            {"at_s": 1.0, "cut": ["ib", "sb"]},
            {"at_s": 2.0, "mend": ["ib", "sb"]},
        ],
    },
    "crash of the publishers' broker": {
        **ROW,
        "clients": [EVERYTHING, PUBLISHER],
        "faults": [{"at_s": 1.0, "crash": "pb"}, {"at_s": 1.2, "restart": "pb"}],
    },
    "durable subscriber that leaves and comes back": {
        **ROW,
        "clients": [
            {**EVERYTHING, "durable": True},
            {**EVERYTHING, "name": "transient"},
            PUBLISHER,
        ],
        "faults": [
            {"at_s": 1.0, "leave": "s"},
            {"at_s": 1.0, "leave": "transient"},
            {"at_s": 2.0, "come_back": "s"},
            {"at_s": 2.0, "come_back": "transient"},
        ],
    },
    "replay from the earliest message": {
        **ROW,
        "clients": [{**EVERYTHING, "start": "earliest", "start_s": 2.0}, PUBLISHER],
    },
}


def simulated(scenario: Scenario, seed: int) -> World:
    return SimRun(scenario, seed, checked=True)


def real(scenario: Scenario, seed: int) -> World:
    return NetRun(scenario, seed)


@pytest.fixture(params=[simulated, real], ids=["sim", "net"])
def make_world(request: pytest.FixtureRequest) -> MakeWorld:
    made: MakeWorld = request.param
    return made


def result_of(name: str, make_world: MakeWorld) -> RunResult:
    scenario = parse_scenario({"name": "contract", "expect": NOTHING_WRONG, **SCENARIOS[name]})
    return run(make_world(scenario, 1))


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_contract_holds_in_both_worlds(name: str, make_world: MakeWorld) -> None:
    result = result_of(name, make_world)
    failed = [verdict for verdict in judge_expectations(result) if not verdict.held]
    assert not failed, result.judgement.examples
    totals = result.histories["guaranteed"].totals()
    received = {client: count for client, metric, count in totals if metric == "received"}
    assert received
    assert all(received.values()), received
    for metric in ("published_messages", "delivered_messages", "sent_bytes", "queue_bytes"):
        assert result.telemetry.series(metric), f"{metric} is not recorded"
    assert result.telemetry.series("sent_bytes", node="ib", subject="ib->sb")
