from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.file import load_scenario, parse_scenario
from penstock.lab.scenario.model import FAULT_KINDS, Aggregate
from penstock.lab.scenario.reference import filled, places
from penstock.lab.workloads.attribute_values import KINDS

DOCUMENT = (Path(__file__).parents[3] / "docs" / "reference" / "scenario.md").read_text()
(EXAMPLE, *_) = re.findall(r"```toml\n(.*?)```", DOCUMENT, re.DOTALL)


def test_the_tables_of_the_document_are_those_of_the_code() -> None:
    assert filled(DOCUMENT) == DOCUMENT, "run: make reference"


def test_every_table_and_every_service_has_its_place() -> None:
    assert set(re.findall(r"<!-- ((?:keys|metrics): \S+) -->", DOCUMENT)) == places()


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_every_fault_is_described(kind: str) -> None:
    assert re.search(rf"`{kind} = ", DOCUMENT)


@pytest.mark.parametrize("aggregate", get_args(Aggregate))
def test_every_aggregate_is_described(aggregate: str) -> None:
    assert re.search(rf"^\|[^|]*`{aggregate}`[^|]*\|", DOCUMENT, re.MULTILINE)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_attribute_value_is_described(kind: str) -> None:
    assert f'| `"{kind}:' in DOCUMENT


def test_the_example_is_valid() -> None:
    assert parse_scenario(tomllib.loads(EXAMPLE)).services == ("guaranteed", "queues")


def test_the_error_of_the_example_is_the_documented_one(tmp_path: Path) -> None:
    path = tmp_path / "outage.toml"
    path.write_text(EXAMPLE.replace("bandwidth_bytes", "bandwith_bytes"))
    with pytest.raises(ScenarioError) as raised:
        load_scenario(path)
    assert f"\n    {str(raised.value).replace(f'{path.parent}/', '')}\n" in DOCUMENT
