from __future__ import annotations

import copy
from typing import Any

import pytest

from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.overrides import overridden

RAW: dict[str, Any] = {
    "name": "small",
    "duration_s": 5,
    "parameters": {"guaranteed": {"congestion": {"law": "paper"}}},
    "brokers": [{"name": "pb", "pubends": 1}, {"name": "sb.east"}, {"name": "r{i}", "count": 3}],
    "links": [{"between": ["pb", "sb.east"], "loss": 0.1}, {"between": ["pb", "r{i}"]}],
    "clients": [
        {"service": "guaranteed", "name": "s"},
        {"service": "guaranteed", "name": "p", "rate_msgs_per_s": [[0, 5], [2, 10]]},
    ],
    "faults": [{"at_s": 1, "crash": "pb"}],
}


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("duration_s", ("duration_s",)),
        ("new_key", ("new_key",)),
        ("parameters.guaranteed.congestion.law", ("parameters", "guaranteed", "congestion", "law")),
        ("guaranteed.congestion.law", ("parameters", "guaranteed", "congestion", "law")),
        ("congestion.law", ("parameters", "guaranteed", "congestion", "law")),
        ("parameters.datagram.law", ("parameters", "datagram", "law")),
        ("brokers.pb.pubends", ("brokers", 0, "pubends")),
        ("brokers.pb.queues.work.max_messages", ("brokers", 0, "queues", "work", "max_messages")),
        ("brokers.sb.east.pubends", ("brokers", 1, "pubends")),
        ("brokers.r.pubends", ("brokers", 2, "pubends")),
        ("brokers.r{i}.pubends", ("brokers", 2, "pubends")),
        ("brokers.2.pubends", ("brokers", 2, "pubends")),
        ("links.pb-sb.east.loss", ("links", 0, "loss")),
        ("links.1.loss", ("links", 1, "loss")),
        ("clients.p.rate_msgs_per_s", ("clients", 1, "rate_msgs_per_s")),
        ("clients.p.rate_msgs_per_s.1.1", ("clients", 1, "rate_msgs_per_s", 1, 1)),
        ("faults.0.at_s", ("faults", 0, "at_s")),
    ],
)
def test_a_path_leads_to_its_place(path: str, place: tuple[str | int, ...]) -> None:
    before = copy.deepcopy(RAW)
    at: Any = overridden(RAW, {path: 7})
    for step in place:
        at = at[step]
    assert at == 7
    assert before == RAW


def test_several_values_are_put_one_after_another() -> None:
    changed = overridden(RAW, {"clients.p.payload_bytes": 16, "clients.p.batch_rows": 4})
    assert changed["clients"][1] == {**RAW["clients"][1], "payload_bytes": 16, "batch_rows": 4}


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("brokers.nobody.pubends", "there is no 'nobody'; there are: pb, sb.east, r{i}"),
        ("links.pb-x.loss", "there is no 'pb-x'; there are: pb-sb.east, pb-r{i}"),
        ("faults.1.at_s", "there is no '1'; there are: 0 to 0"),
        ("duration_s.x", "'duration_s' is a value, not a table"),
        ("faults.0", "name one table and a key, such as faults.0.KEY"),
        ("clients.p", "name one table and a key, such as clients.p.KEY"),
    ],
)
def test_errors_name_the_path_and_what_there_is(path: str, told: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        overridden(RAW, {path: 7})
    assert str(raised.value) == f"{path}: {told}"
