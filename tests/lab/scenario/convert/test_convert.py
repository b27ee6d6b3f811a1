from __future__ import annotations

from typing import Any

import pytest

from penstock.lab.scenario.convert.convert import converted, is_old_form
from penstock.lab.scenario.convert.parts import NotConvertible


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
