"""Which flows a message is part of, against the definition of selectors."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.matching.normal_form import normal_form
from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import selects
from penstock.services.datagram.publisher.flow_match import MOST_SHAPES, FlowMatch, choices_of

SELECTORS = (
    "",
    "FALSE",
    "a = 1",
    "a = 1.0 AND b = 'x'",
    "a = TRUE",
    "a = FALSE OR a = 0",
    "a IN ('x', 'y') AND b = 1",
    "a = 1 OR b = 1",
    "b IS NULL",
    "a = 1 AND b IS NULL",
    "a > 0",
    "a LIKE 'x%'",
    "a = b",
    "a <> 1",
    "b = 'x' AND c = 'x'",
)
VALUES = st.sampled_from([0, 1, 1.0, True, False, "x", "y", b"x", float("nan"), 2**63 - 1])
ROWS = st.dictionaries(st.sampled_from("abc"), VALUES)


def match_of(*texts: str) -> FlowMatch:
    match = FlowMatch()
    for slot, text in enumerate(texts):
        match.add(slot, parse(text), normal_form(parse(text)))
    return match


@given(st.sets(st.sampled_from(range(len(SELECTORS)))), ROWS)
@settings(deadline=None)
def test_a_message_is_part_of_the_flows_whose_selectors_select_it(
    removed: set[int], row: dict[str, int | float | bool | str | bytes]
) -> None:
    match = match_of(*SELECTORS)
    for slot in removed:
        match.remove(slot)
    expected = [
        slot
        for slot, text in enumerate(SELECTORS)
        if slot not in removed and selects(parse(text), row)
    ]
    assert sorted(match.slots(row)) == expected


@pytest.mark.parametrize(
    ("selector", "choices"),
    [
        ("a = 1", [(("a",), 1)]),
        ("a = TRUE AND b = 2", [(("a", "b"), (("true",), 2))]),
        ("a IN (1, 2)", [(("a",), 1), (("a",), 2)]),
        ("a < 1", None),
        ("", None),
        (" OR ".join(f"a = {each}" for each in range(17)), None),
    ],
)
def test_selectors_that_ask_for_values_are_choices(
    selector: str, choices: list[object] | None
) -> None:
    assert choices_of(normal_form(parse(selector))) == choices


def test_more_sets_of_attributes_than_are_looked_up_are_matched_too() -> None:
    texts = [f"a{each} = 1" for each in range(2 * MOST_SHAPES)]
    match = match_of(*texts)
    assert all(list(match.slots({f"a{each}": 1})) == [each] for each in range(len(texts)))
    for slot in range(len(texts)):
        match.remove(slot)
    assert not match.slots({"a0": 1, f"a{2 * MOST_SHAPES - 1}": 1})
