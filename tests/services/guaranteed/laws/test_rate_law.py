from __future__ import annotations

from math import inf, nan

import pytest

from penstock.services.guaranteed.laws.rate_law import AlertReading, Rule


def test_codes_of_rules_are_distinct_and_can_stand_in_a_list() -> None:
    codes = [rule.code for rule in Rule]
    assert len(set(codes)) == len(codes)
    assert not any(" " in code or "," in code for code in codes)


def test_every_rule_but_none_has_a_code_and_a_sentence() -> None:
    assert all(rule.code and rule.sentence for rule in Rule if rule is not Rule.NONE)


@pytest.mark.parametrize("rate", [nan, inf, -1.0])
def test_rates_that_no_edge_can_measure_are_recognised(rate: float) -> None:
    assert not AlertReading(rate, "sb", 1.0, 0).is_possible
    assert not AlertReading(1.0, "sb", rate, 0).is_possible
    assert AlertReading(1.0, "sb", 1.0, 0).is_possible
