from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from penstock.content.selectors.parser import DEFAULT_LIMITS
from penstock.core import limits
from penstock.mechanisms.sequence_table import MOST_INTERVALS
from penstock.net.broker.config import Limits
from penstock.net.broker.work_turns import SLICE_S
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.queues.parameters import QueueParameters

DOCUMENT = (Path(__file__).parents[2] / "docs" / "reference" / "limits.md").read_text()
TABLES = {
    "guaranteed": GuaranteedParameters(),
    "queue_parameters": QueueParameters(),
    "multicast": MulticastParameters(),
    "limits": Limits(),
}
OF_VALUES = dict(re.findall(r"^\| `([A-Z_]+)` \| (\S+) \|", DOCUMENT, re.MULTILINE))
OF_TABLES = re.findall(r"\| `(\w+)\.(\w+)` \| (\d+) \|$", DOCUMENT, re.MULTILINE)


def test_every_limit_of_values_is_documented() -> None:
    words = ("LONGEST_", "LARGEST_", "LATEST_", "HIGHEST_", "MOST_")
    declared = {name for name in vars(limits) if name.startswith(words)}
    assert OF_VALUES.keys() == declared


@pytest.mark.parametrize("name", OF_VALUES)
def test_a_limit_of_values_is_as_documented(name: str) -> None:
    limit = getattr(limits, name)
    assert type(limit)(OF_VALUES[name]) == limit


@pytest.mark.parametrize(("table", "name", "value"), OF_TABLES)
def test_a_limit_of_a_table_is_as_documented(table: str, name: str, value: str) -> None:
    assert getattr(TABLES[table], name) == int(value)


def test_every_limit_of_sessions_is_documented() -> None:
    documented = {(table, name) for table, name, _ in OF_TABLES}
    for table, parameters in TABLES.items():
        for name in msgspec.structs.asdict(parameters):
            if name.endswith(("_per_session", "_per_client", "max_sessions")):
                assert (table, name) in documented


def test_the_fixed_limits_are_as_documented() -> None:
    parser = DEFAULT_LIMITS
    assert f"more than {parser.max_characters} characters, {parser.max_depth} levels" in DOCUMENT
    assert f"or {parser.max_nodes} nodes" in DOCUMENT
    assert f"{MOST_INTERVALS} intervals of stored numbers" in DOCUMENT
    assert f"for {SLICE_S * 1000:g} ms at a time" in DOCUMENT
