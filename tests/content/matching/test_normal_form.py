import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.matching.normal_form import EVERY_ROW, MAX_BOXES, Box, Residual, normal_form
from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import evaluate, selects


def in_box(box, row):
    return all(row.get(name) in wanted for name, wanted in box.constraints) and all(
        evaluate(each.condition, row) is each.wanted for each in box.residuals
    )


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_the_union_of_the_boxes_is_what_is_selected(data, draws):
    selector = data.draw(draws.selectors)
    boxes = normal_form(selector)
    assert len(boxes) <= MAX_BOXES
    for row in data.draw(st.lists(draws.attribute_rows, min_size=1, max_size=5)):
        assert any(in_box(box, row) for box in boxes) == selects(selector, row)


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_constraints_are_sorted_and_never_idle(data, draws):
    for box in normal_form(data.draw(draws.selectors)):
        names = [name for name, _ in box.constraints]
        assert names == sorted(set(names))
        assert all(wanted for _, wanted in box.constraints)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x = 1 OR x = 2", "x IN (2, 1)"),
        ("x >= 1 AND x <= 5", "x BETWEEN 1 AND 5"),
        ("x NOT BETWEEN 1 AND 5", "x < 1 OR x > 5"),
        ("5 > x", "x < 5"),
        ("x > 2 * 5 - 1", "x > 9"),
        ("x = 'a' AND x LIKE 'a%'", "x = 'a'"),
        ("(a = 1 AND b = 1) OR (a = 2 AND b = 1)", "a IN (1, 2) AND b = 1"),
        ("NOT (x IS NULL)", "x IS NOT NULL"),
        ("NOT (a = 1 OR b = 2)", "NOT a = 1 AND NOT b = 2"),
    ],
)
def test_equal_meanings_have_equal_forms(text, same):
    assert normal_form(parse(text)) == normal_form(parse(same))


@pytest.mark.parametrize("text", ["", "x IS NULL OR x IS NOT NULL", "1 < 2", "a = 1 OR TRUE"])
def test_everything(text):
    assert normal_form(parse(text)) == (EVERY_ROW,)


@pytest.mark.parametrize(
    "text",
    ["FALSE", "x = 1 AND x = 2", "x = 1 / 0", "NOT x = 1 / 0", "'a' = 1", "a < b AND NOT a < b"],
)
def test_nothing(text):
    assert normal_form(parse(text)) == ()


def test_conditions_that_relate_attributes_are_residuals():
    (box,) = normal_form(parse("c = 1 AND NOT a < b"))
    assert box.residuals == {Residual(parse("a < b").condition, False)}
    assert [name for name, _ in box.constraints] == ["c"]


def test_a_bound_that_is_not_constant_leaves_the_other_indexed():
    (box,) = normal_form(parse("x BETWEEN 5 AND y"))
    assert [name for name, _ in box.constraints] == ["x"]
    assert len(box.residuals) == 1


def test_boxes_are_bounded():
    crossed = " AND ".join(f"(a{n} = 1 OR b{n} = 2)" for n in range(20))
    boxes = normal_form(parse(crossed))
    assert len(boxes) <= MAX_BOXES
    assert all(box.residuals for box in boxes)
    many = " OR ".join(f"(a{n} = 1 AND b = {n})" for n in range(50))
    assert normal_form(parse(many)) == (
        Box(residuals=frozenset({Residual(parse(many).condition, True)})),
    )


HOSTILE = (
    " AND ".join(f"x NOT LIKE '%x{n}y%'" for n in range(250)),
    " OR ".join(f"x LIKE '%x{n}y%'" for n in range(250)),
    " AND ".join(f"(x LIKE '%x{n}y%' OR x LIKE '%z{n}w%')" for n in range(120)),
    " OR ".join("x LIKE '" + "%a_" * 60 + f"{n}%'" for n in range(40)),
    " AND ".join(f"(a <> {n} OR b <> {n})" for n in range(140)),
    "x IN (" + ", ".join(f"'v{n}'" for n in range(800)) + ")" + " AND x NOT LIKE '%a%b%'" * 30,
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_selectors_made_to_be_slow_are_bounded_and_still_exact(text):
    # Without the bounds of string_sets.py some of these take minutes.
    selector = parse(text)
    boxes = normal_form(selector)
    assert len(boxes) <= MAX_BOXES
    for row in ({"x": "y"}, {"x": "x39y"}, {"x": "v7", "a": 1, "b": 2}, {"a": 1, "b": 1}, {}):
        assert any(in_box(box, row) for box in boxes) == selects(selector, row)
