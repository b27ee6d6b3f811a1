import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.selectors.parser import parse
from penstock.content.selectors.printing import condition_text, name_text, string_text


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_canonical_text_reads_back_as_the_same_tree(data, draws):
    condition = data.draw(draws.conditions)
    assert parse(condition_text(condition)).condition == condition


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("a=1 and(b='x'or c)", "a = 1 AND (b = 'x' OR c = TRUE)"),
        ("((a)) is  null", "a IS NULL"),
        ("not(not a)", "NOT NOT a = TRUE"),
        ("a-(b-c)>1e3", "a - (b - c) > 1000.0"),
        ("a/(b*c)=-(a+1)", "a / (b * c) = -(a + 1)"),
        ("-(-a)<0x10", "--a < 16"),
        ("a - -1 > 0", "a - -1 > 0"),
        ("a like '%_'", "a LIKE '_%'"),
        ("a like '5!%' escape '!'", "a LIKE '5\\%' ESCAPE '\\'"),
        ('"a" = 1 and "in" = 1 and "x y" = 1', 'a = 1 AND "in" = 1 AND "x y" = 1'),
    ],
)
def test_canonical_text(written, canonical):
    assert parse(written).text == canonical
    assert str(parse(written)) == canonical


def test_quoting():
    assert name_text('say "x"') == '"say ""x"""'
    assert string_text("it's") == "'it''s'"
