import pytest

from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.parser import parse


def refusal(text):
    with pytest.raises(SelectorError) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a =", "it ends too early; expected a value"),
        ("a AND", "it ends too early; expected a value or a condition"),
        ("a IS 5", "'5' cannot stand here; expected NOT or NULL"),
        ("a IN (1, 2", "it ends too early; expected ) or a comma"),
        ("a LIKE 5", "'5' cannot stand here; expected a string in single quotes"),
        ("a = 'x' ?", "'?' cannot stand here"),
    ],
)
def test_what_could_have_stood_there_is_said(text, reason):
    assert refusal(text).reason == reason


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a == 1", "equality is written ="),
        ("a || b", "write OR"),
        ("!a", "negation is written NOT"),
        ("`a` = 1", "a name with special characters stands in double quotes"),
        ("a IN [1]", "write the values of IN in round brackets"),
        ("a = 1 # why", "there are no comments"),
        ("a = ?", ""),
    ],
)
def test_usual_slips_are_recognised(text, hint):
    assert refusal(text).hint == hint
