from penstock.content.selectors.parser import parse
from penstock.content.selectors.selector import EVERYTHING, Selector


def test_different_spellings_are_the_same_selector():
    first, second = parse("a=1 AND b"), parse("(a = 0x1) and (b = true)")
    assert first == second
    assert len({first, second}) == 1


def test_only_the_constant_is_known_to_match_everything():
    assert EVERYTHING.text == "TRUE"
    assert EVERYTHING.matches_everything
    assert not parse("a = 1").matches_everything


def test_made_from_a_condition():
    assert Selector.of(parse("a > 1").condition) == parse("a > 1")
