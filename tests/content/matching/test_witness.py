import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.matching.witness import witness
from penstock.content.rows.batch import Batch
from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import selects


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_witness_is_a_row_that_is_selected(data, draws):
    selector = data.draw(draws.selectors)
    row = witness(selector)
    if row is not None:
        assert selects(selector, row)
        assert Batch.from_rows([(row, b"")]).attributes(0).keys() == row.keys()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 5",
        "x > 5",
        "x < 5",
        "x > 1.5 AND x < 1.6",
        "x > 9007199254740992 AND x < 9007199254740993.5",
        "x > 9223372036854775806",
        "x < -1e308",
        "x <> 0",
        "x = 'a' AND y = TRUE AND z IS NULL",
        "x LIKE 'a%b_' AND x <> 'aba'",
        "x LIKE '%b' AND x LIKE 'a%b'",
        "x NOT LIKE 'a%' AND x NOT LIKE '~%'",
        "x <> '' AND x <> 'a' AND x <> '~'",
        "NOT x = 5 AND NOT x LIKE '%'",
        "x > 0 OR FALSE",
        "a = 2 AND b = 3 AND a < b",
    ],
)
def test_usual_selectors_have_one(text):
    assert selects(parse(text), witness(parse(text)))


@pytest.mark.parametrize("text", ["FALSE", "x = 1 AND x = 2", "a < b AND b < a"])
def test_what_nothing_satisfies_has_none(text):
    assert witness(parse(text)) is None
