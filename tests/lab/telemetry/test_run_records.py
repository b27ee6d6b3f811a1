"""The records of a run about itself suffice to identify it in the lake."""

from __future__ import annotations

import msgspec

from penstock.core.clock import SECOND, seconds
from penstock.lab.oracle.guaranteed.history import GuaranteedHistory
from penstock.lab.oracle.judgement import Judgement
from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.telemetry.run_records import (
    JUDGED,
    MEASURED,
    RunFacts,
    failure_records,
    run_name,
    run_records,
)
from penstock.lab.worlds.sim import SimRun
from penstock.sim.world import EPOCH

SCENARIO = parse_scenario(
    {
        "name": "small",
        "duration_s": 4,
        "brokers": [{"name": "a", "pubends": 1}, {"name": "b"}],
        "links": [
            {
                "between": ["a", "b"],
                "changes": [
                    {"at_s": 0.5, "bandwidth_bytes_per_s": 10_000},
                    {"at_s": 1.5, "bandwidth_bytes_per_s": 0, "latency_ms": 3},
                    {"at_s": 9, "loss": 0.5},
                ],
            }
        ],
        "clients": [
            {"service": "guaranteed", "role": "subscriber", "name": "s", "broker": "b"},
            {
                "service": "guaranteed",
                "role": "publisher",
                "name": "p",
                "broker": "a",
                "rate_msgs_per_s": 20,
            },
        ],
        "faults": [
            {"at_s": 1, "cut": ["a", "b"]},
            {"at_s": 2, "mend": ["a", "b"]},
            {"at_s": 3, "bandwidth": {"link": ["a", "b"], "bytes_per_s": 9000}},
            {"at_s": 3.5, "reconfigure": {"broker": "a", "pubends": 2}},
            {"at_s": 9, "crash": "b"},
        ],
        "expect": [
            {"name": "rows", "metric": "delivered", "at_least": 1},
            {"metric": "violations", "at_most": 0},
        ],
    }
)


def result() -> RunResult:
    return run(SimRun(SCENARIO, 7))


def test_the_facts_name_the_origin_of_the_run() -> None:
    first = next(iter(run_records(result(), {"duration_s": 4}, "trial")))
    assert (first.at, first.node, first.metric, first.value) == (EPOCH, "run", "run_facts", 4.0)
    facts = msgspec.json.decode(first.detail, type=RunFacts)
    assert facts == RunFacts("small", "sim", 7, {"duration_s": 4}, "trial")


def test_faults_and_changes_of_links_are_recorded_unless_the_run_ends_first() -> None:
    faults = [record for record in run_records(result()) if record.metric == "fault"]
    assert [(each.at - EPOCH, each.subject, each.detail, each.value) for each in faults] == [
        (1 * SECOND, "a-b", "cut", 1.0),
        (2 * SECOND, "a-b", "mend", 1.0),
        (3 * SECOND, "a-b", "bandwidth", 9000.0),
        (3.5 * SECOND, "a", "reconfigure", 1.0),
        (0.5 * SECOND, "a-b", "bandwidth", 10_000.0),
        (1.5 * SECOND, "a-b", "bandwidth", 0.0),
        (1.5 * SECOND, "a-b", "path", 1.0),
    ]


def test_the_outcome_matches_the_history() -> None:
    done = result()
    found = {(record.subject, record.metric): record.value for record in run_records(done)}
    history = done.histories["guaranteed"]
    assert isinstance(history, GuaranteedHistory)
    published = len(history.publishers["p"])
    assert published == 80
    assert found["p", "submitted"] == found["p", "acknowledged"] == published
    assert found["s", "received"] == len(history.subscribers["s"])
    assert found["small", "lost"] == done.judgement["lost"] == 0
    assert found["small", "announced_lost"] == done.judgement["announced_lost"]
    assert found["small", "violations"] == found["small", "machine_failures"] == 0
    ends = {record.at for record in run_records(done) if record.metric == "lost"}
    assert ends == {done.ended_at}
    assert done.ended_at >= EPOCH + seconds(4)


def test_the_values_of_expectations_are_recorded_by_their_names_and_rules_once() -> None:
    done = result()
    measured = [each for each in run_records(done) if each.detail == MEASURED]
    assert [(each.metric, each.value) for each in measured] == [
        ("rows", done.delivered),
    ]
    judged = {each.metric: each.value for each in run_records(done) if each.detail == JUDGED}
    assert judged == {**done.judgement.broken, **done.judgement.noted, "violations": 0}


def test_a_rule_of_one_service_is_not_hidden_by_what_another_only_notes() -> None:
    judgements = {
        "strict": Judgement({"lost": 3}, {}, []),
        "lenient": Judgement({"cheated": 0}, {"lost": 50, "late": 7}, []),
    }
    done = msgspec.structs.replace(result(), judgements=judgements)
    judged = {each.metric: each.value for each in run_records(done) if each.detail == JUDGED}
    assert judged == {"lost": 3, "cheated": 0, "late": 7, "machine_failures": 0, "violations": 3}


def test_a_failed_simulation_records_the_reason() -> None:
    records = failure_records(RunFacts("small", "sim", 7), "RuntimeError: no")
    assert [(each.metric, each.value) for each in records] == [("run_facts", 0.0), ("failed", 1.0)]
    assert records[1].detail == "RuntimeError: no"


def test_the_name_of_a_run_contains_scenario_world_and_seed() -> None:
    assert run_name("small", "net", 3) == "small-net-3"
