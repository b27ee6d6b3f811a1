"""The records of a run about itself suffice to identify it in the lake."""

from __future__ import annotations

import msgspec

from penstock.core.clock import SECOND, seconds
from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.telemetry.run_records import RunFacts, failure_records, run_name, run_records
from penstock.lab.worlds.sim import SimRun
from penstock.sim.world import EPOCH

SCENARIO = parse_scenario(
    {
        "name": "small",
        "duration_s": 4,
        "brokers": {"a": {"pubends": 1}, "b": {}},
        "links": [{"between": ["a", "b"]}],
        "publishers": [{"name": "p", "broker": "a", "rate_msgs_per_s": 20}],
        "subscribers": [{"name": "s", "broker": "b"}],
        "faults": [
            {"at_s": 1, "cut": ["a", "b"]},
            {"at_s": 2, "mend": ["a", "b"]},
            {"at_s": 3, "bandwidth": {"link": ["a", "b"], "bytes_per_s": 9000}},
            {"at_s": 9, "crash": "b"},
        ],
    }
)


def result() -> RunResult:
    return run(SCENARIO, SimRun(SCENARIO, 7))


def test_the_facts_name_the_origin_of_the_run() -> None:
    first = next(iter(run_records(result(), {"duration_s": 4}, "trial")))
    assert (first.at, first.node, first.metric, first.value) == (EPOCH, "run", "run_facts", 4.0)
    facts = msgspec.json.decode(first.detail, type=RunFacts)
    assert facts == RunFacts("small", "sim", 7, {"duration_s": 4}, "trial")


def test_faults_are_recorded_at_their_instants_unless_the_run_ends_first() -> None:
    faults = [record for record in run_records(result()) if record.metric == "fault"]
    assert [(each.at - EPOCH, each.subject, each.detail, each.value) for each in faults] == [
        (1 * SECOND, "a-b", "cut", 1.0),
        (2 * SECOND, "a-b", "mend", 1.0),
        (3 * SECOND, "a-b", "bandwidth", 9000.0),
    ]


def test_the_outcome_matches_the_history() -> None:
    done = result()
    found = {(record.subject, record.metric): record.value for record in run_records(done)}
    published = len(done.history.publishers["p"])
    assert published == 80
    assert found["p", "submitted"] == found["p", "acknowledged"] == published
    assert found["s", "received"] == len(done.history.subscribers["s"])
    assert found["small", "lost"] == done.judgement.lost == 0
    ends = {record.at for record in run_records(done) if record.metric == "lost"}
    assert ends == {done.ended_at}
    assert done.ended_at >= EPOCH + seconds(4)


def test_a_failed_simulation_records_the_reason() -> None:
    records = failure_records(RunFacts("small", "sim", 7), "RuntimeError: no")
    assert [(each.metric, each.value) for each in records] == [("run_facts", 0.0), ("failed", 1.0)]
    assert records[1].detail == "RuntimeError: no"


def test_the_name_of_a_run_contains_scenario_world_and_seed() -> None:
    assert run_name("small", "net", 3) == "small-net-3"
