from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from penstock.lab.scenario.convert.convert import converted, is_old_form
from penstock.lab.scenario.convert.parts import NotConvertible
from penstock.lab.scenario.file import parse_scenario


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ({"service": "queues"}, "service: belongs to [[clients]] now"),
        ({"brokers": {"b": {}}}, "brokers: [brokers.NAME] is [[brokers]] with a name now"),
        ({"publishers": []}, "publishers: [[publishers]] are [[clients]] now"),
        ({"brokers": [], "subscribers": []}, "subscribers: [[subscribers]] are [[clients]] now"),
        ({"faults": [{}, {"add_pubend": "b"}]}, "faults[1].add_pubend: is reconfigure now"),
    ],
)
def test_a_former_form_is_recognised(raw: dict[str, Any], why: str) -> None:
    assert is_old_form(raw) == why


@pytest.mark.parametrize(
    "raw",
    [{}, {"brokers": [{"name": "b"}], "clients": [], "faults": [{"crash": "b"}]}, {"faults": 3}],
)
def test_the_present_form_is_no_former_one(raw: dict[str, Any]) -> None:
    assert is_old_form(raw) == ""
    with pytest.raises(NotConvertible, match="no file of a former form"):
        converted(raw)


def test_a_service_without_a_former_form_is_refused() -> None:
    with pytest.raises(NotConvertible, match="service: 'mail' had no scenarios"):
        converted({"service": "mail"})


def test_a_value_of_another_kind_is_refused() -> None:
    pairs = [{"matching": 0.5, "rate_msgs_per_s": 3}]
    raw = {"service": "datagram", "name": "x", "duration_s": 3, "bandwidth": [[0, 5]]}
    with pytest.raises(NotConvertible, match="a value is not of the kind that the form had"):
        converted({**raw, "pairs": pairs})


FORMER = sorted((Path(__file__).parent / "former").glob("*.toml"))


@pytest.mark.parametrize("path", FORMER, ids=lambda path: path.stem)
def test_a_former_file_becomes_a_valid_one(path: Path) -> None:
    scenario = parse_scenario(converted(tomllib.loads(path.read_text())))
    assert scenario.clients
    assert scenario.expect
