import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.expressions import (
    And,
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Between,
    BooleanLiteral,
    Comparison,
    ComparisonOperator,
    FloatLiteral,
    In,
    IntegerLiteral,
    IsNull,
    Like,
    Negation,
    Not,
    Or,
    StringLiteral,
)
from penstock.content.selectors.like_pattern import parse_pattern
from penstock.content.selectors.parser import SelectorLimits, parse
from penstock.content.selectors.selector import EVERYTHING

A, B = Attribute("a"), Attribute("b")
ONE = IntegerLiteral(1)


def equal(name, literal):
    return Comparison(ComparisonOperator.EQUAL, Attribute(name), literal)


def test_empty_text_matches_everything():
    for text in ("", "  \n ", "TRUE", "(true)"):
        assert parse(text) == EVERYTHING
        assert parse(text).matches_everything


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("a = 1", equal("a", ONE)),
        ("a = 'it''s'", equal("a", StringLiteral("it's"))),
        ("a", equal("a", BooleanLiteral(True))),
        ("a BETWEEN 1 AND b", Between(A, ONE, B)),
        ("a not between 1 and 1", Between(A, ONE, ONE, True)),
        ("a IN ('x', -1, 2.5, TRUE, 'x')", In(A, (
            StringLiteral("x"), IntegerLiteral(-1), FloatLiteral(2.5), BooleanLiteral(True)))),
        ("a Not In (1)", In(A, (ONE,), True)),
        ("a LIKE 'x!_%' ESCAPE '!'", Like(A, parse_pattern("x!_%", "!"))),
        ("a NOT LIKE '_'", Like(A, parse_pattern("_"), True)),
        ("a IS NULL", IsNull(A)),
        ("a IS NOT NULL", IsNull(A, True)),
        ("a <> b", Comparison(ComparisonOperator.UNEQUAL, A, B)),
        ("-a < +1", Comparison(ComparisonOperator.LESS, Negation(A), ONE)),
        ('"order-id" = 1', equal("order-id", ONE)),
        ('"in ""quotes""" = 1', equal('in "quotes"', ONE)),
        ("$a_1 = 1", equal("$a_1", ONE)),
        ("größe = 1", equal("größe", ONE)),
        ("android = 1", equal("android", ONE)),
    ],
)  # fmt: skip
def test_every_construct(text, condition):
    assert parse(text).condition == condition


def test_precedence():
    a, b, c = (equal(name, BooleanLiteral(True)) for name in "abc")
    assert parse("a OR b AND NOT c").condition == Or((a, And((b, Not(c)))))
    assert parse("(a OR b) AND c").condition == And((Or((a, b)), c))
    assert parse("NOT a = 1").condition == Not(equal("a", ONE))
    assert parse("a AND (b AND c)").condition == And((a, b, c))
    assert parse("a BETWEEN 1 AND 1 AND b").condition == And((Between(A, ONE, ONE), b))


def test_arithmetic_associates_to_the_left():
    add, subtract, multiply = (
        ArithmeticOperator.ADD,
        ArithmeticOperator.SUBTRACT,
        ArithmeticOperator.MULTIPLY,
    )
    left = Arithmetic(add, Arithmetic(subtract, A, B), Arithmetic(multiply, A, B))
    assert parse("a - b + a * b > 1").condition == Comparison(ComparisonOperator.GREATER, left, ONE)


@pytest.mark.parametrize(
    ("written", "literal"),
    [
        ("0", IntegerLiteral(0)),
        ("-9223372036854775808", IntegerLiteral(-(2**63))),
        ("9_000L", IntegerLiteral(9000)),
        ("0x1F", IntegerLiteral(31)),
        ("017", IntegerLiteral(15)),
        ("0b101", IntegerLiteral(5)),
        ("7.", FloatLiteral(7.0)),
        (".5", FloatLiteral(0.5)),
        ("-95.7", FloatLiteral(-95.7)),
        ("-57.9E2", FloatLiteral(-5790.0)),
        ("7E3", FloatLiteral(7000.0)),
        ("6f", FloatLiteral(6.0)),
        ("1.5D", FloatLiteral(1.5)),
        ("0x1.8p1", FloatLiteral(3.0)),
        ("-(-3)", IntegerLiteral(3)),
    ],
)
def test_numbers_in_java_notation(written, literal):
    assert parse(f"a = {written}").condition == equal("a", literal)


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("a == 1", 4, "equality is written ="),
        ("a != 1", 3, "inequality is written <>"),
        ("a && b", 3, "write AND"),
        ("a = 'x", 5, "not closed"),
        ("a = NULL", 5, "IS NULL"),
        ("in = 1", 1, 'written "in"'),
        ("(a = 1", 7, "a bracket is not closed"),
        ("a = 1)", 6, "no bracket is open"),
        ("a =", 4, "ends too early"),
        ("a b", 3, "expected"),
        ("a.b = 1", 2, "double quotes"),
        ("a > 'x'", 5, "strings compare with = and <> only"),
        ("TRUE < a", 1, "booleans compare with = and <> only"),
        ("a + 'x' > 1", 5, "stands where a number must"),
        ("(a = 1) = TRUE", 2, "condition cannot be compared"),
        ("a AND 5", 7, "not a condition"),
        ("1 IN (1)", 1, "needs an attribute"),
        ("a LIKE b", 8, "a string in single quotes"),
        ("a LIKE 'x!y' ESCAPE '!'", 21, "escape character"),
        ("a = 9223372036854775808", 5, "does not fit 64 bits"),
        ("a = 1e999", 5, "beyond the range"),
        ("a = 0x1p99999", 5, "beyond the range"),
        ("a = 08", 5, "octal"),
        ("a = 5x", 5, "runs into a letter"),
        ("a = 1;", 6, "semicolon"),
        ('"" = 1', 1, "empty or not closed"),
    ],
)
def test_refusals_say_where_and_what_to_do(text, column, part):
    with pytest.raises(SelectorError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (1, column)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_line_is_counted():
    with pytest.raises(SelectorError) as caught:
        parse("a = 1\n AND\n b ==")
    assert (caught.value.line, caught.value.column) == (3, 5)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("x" * 100_000, "100000 characters"),
        ("(" * 10_000 + "a" + ")" * 10_000, "20001 characters"),
        ("(" * 100 + "a" + ")" * 100, "nested more than 64 deep"),
        ("NOT " * 100 + "a", "nested 102 deep"),
        ("a" + " + a" * 100 + " > 1", "nested 102 deep"),
        ("a = 1" + " OR a = 1" * 400, "1204 names, values and operators"),
        ("a = '\ud800'", "surrogate"),
    ],
)
def test_limits(text, part):
    with pytest.raises(SelectorError, match=part):
        parse(text)


def test_brackets_in_strings_do_not_nest():
    assert parse("a = '" + "(" * 100 + "'")


def test_limits_can_be_chosen():
    deep = "(" * 100 + "a" + ")" * 100
    assert parse(deep, SelectorLimits(max_depth=100)).text == "a = TRUE"
    with pytest.raises(SelectorError, match="10 characters and the limit is 5"):
        parse("a = 123456", SelectorLimits(max_characters=5))
    many = "a IN (" + ", ".join(map(str, range(20_000))) + ")"
    generous = SelectorLimits(max_characters=200_000, max_nodes=50_000)
    assert len(parse(many, generous).condition.choices) == 20_000


@settings(max_examples=200)
@given(st.text("ab'\"()=<>!&|%_.,+-*/ 10xNOTINLKE;\n", max_size=30))
def test_any_text_is_parsed_or_refused(text):
    try:
        selector = parse(text)
    except SelectorError:
        return
    assert parse(selector.text) == selector


def test_a_selector_that_is_accepted_is_accepted_in_its_canonical_form():
    """Brokers tell each other the canonical text, which may be longer than what was written."""
    limits = SelectorLimits(max_characters=40)
    written = "a=1 or b=2 or c=3 or d=4 or e=5"
    with pytest.raises(SelectorError, match="canonical form has"):
        parse(written, limits)
    assert parse(parse(written).text) == parse(written)
