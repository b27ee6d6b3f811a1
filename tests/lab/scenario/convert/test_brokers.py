from __future__ import annotations

from typing import Any

import pytest

from penstock.core.configuration import parse_toml
from penstock.lab.scenario.convert.brokers import convert_brokers
from penstock.lab.scenario.convert.parts import NotConvertible

OLD = """
name = "an outage, twice"
duration_s = 40
drain_s = 5

[parameters.guaranteed]
retain_bytes = 1000

[brokers.pb]
pubends = 2
guaranteed = { retain_bytes = 5 }
[brokers.sb]
start_s = 2
[brokers.named]
pubends = ["orders"]

[[links]]
between = ["pb", "sb"]

[[publishers]]
name = "p"
count = 2
broker = "pb"
pubend = "pb.{i+1}"
rate_msgs_per_s = 100

[[subscribers]]
name = "acme"
broker = "sb"
selector = "symbol = 'ACME'"

[[faults]]
at_s = 10
cut = ["pb", "sb"]
[[faults]]
at_s = 11
add_pubend = "pb"
[[faults]]
at_s = 12
add_pubend = "pb"
[[faults]]
at_s = 13
add_pubend = "named"

[[expect]]
metric = "violations"
at_most = 0
"""


def test_a_scenario_of_brokers() -> None:
    assert convert_brokers(parse_toml(OLD)) == parse_toml(
        """
        name = "an-outage-twice"
        description = "an outage, twice"
        duration_s = 40
        drain_s = 5

        [parameters.guaranteed]
        retain_bytes = 1000

        [[brokers]]
        name = "pb"
        pubends = 2
        guaranteed = { retain_bytes = 5 }
        [[brokers]]
        name = "sb"
        start_s = 2
        [[brokers]]
        name = "named"
        pubends = ["orders"]

        [[links]]
        between = ["pb", "sb"]

        [[clients]]
        service = "guaranteed"
        role = "subscriber"
        name = "acme"
        broker = "sb"
        selector = "symbol = 'ACME'"

        [[clients]]
        service = "guaranteed"
        role = "publisher"
        name = "p"
        count = 2
        broker = "pb"
        pubend = "pb.{i+1}"
        rate_msgs_per_s = 100

        [[faults]]
        at_s = 10
        cut = ["pb", "sb"]
        [[faults]]
        at_s = 11
        reconfigure = { broker = "pb", pubends = 3 }
        [[faults]]
        at_s = 12
        reconfigure = { broker = "pb", pubends = 4 }
        [[faults]]
        at_s = 13
        reconfigure = { broker = "named", pubends = ["orders", "named.2"] }

        [[expect]]
        metric = "violations"
        at_most = 0
        """
    )


SMALL: dict[str, Any] = {"name": "small", "duration_s": 5, "brokers": {"b": {}}}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"brokers": {"b": 3}}, "brokers: expected one table for each"),
        ({"publishers": 3}, "publishers: expected a list of tables"),
        ({"nmae": 3}, "nmae: unknown key; did you mean"),
        ({"faults": [{"at_s": 1, "add_pubend": "x"}]}, "faults[0].add_pubend: there is no broker"),
        (
            {"publishers": [{"name": "p", "attributes": {"key": "a{i}"}}]},
            "publishers[0].attributes: {i} had no meaning here",
        ),
    ],
)
def test_what_cannot_be_converted_is_told_with_its_key(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(NotConvertible) as raised:
        convert_brokers({**SMALL, **changes})
    assert str(raised.value).startswith(told)


@pytest.mark.parametrize("key", ["name", "duration_s"])
def test_a_missing_key_is_named(key: str) -> None:
    with pytest.raises(NotConvertible, match=f"^{key}: missing; add it$"):
        convert_brokers({name: value for name, value in SMALL.items() if name != key})
