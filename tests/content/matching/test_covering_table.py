import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.matching import covering_table
from penstock.content.matching.covering import covers
from penstock.content.matching.covering_table import CoveringChange, CoveringTable
from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import selects

NARROW, MIDDLE, WIDE, OTHER = parse("x > 9"), parse("x > 5"), parse("x > 1"), parse("y = 1")
CHAINS = tuple(parse(f"a {operator} {bound}") for operator in "<>=" for bound in (0, 1, 2))
NOTHING_TO_TELL = CoveringChange()


def test_only_uncovered_selectors_are_advertised():
    table = CoveringTable()
    assert table.add(MIDDLE) == CoveringChange(advertise=(MIDDLE,))
    assert table.add(NARROW) == NOTHING_TO_TELL
    assert table.add(OTHER) == CoveringChange(advertise=(OTHER,))
    assert table.add(WIDE) == CoveringChange(advertise=(WIDE,), withdraw=(MIDDLE,))
    assert table.advertised == (OTHER, WIDE)
    assert len(table) == 4


def test_unsubscribing_restores_what_was_hidden():
    table = CoveringTable()
    for selector in (NARROW, WIDE, MIDDLE):
        table.add(selector)
    assert table.remove(WIDE) == CoveringChange(advertise=(MIDDLE,), withdraw=(WIDE,))
    assert table.remove(MIDDLE) == CoveringChange(advertise=(NARROW,), withdraw=(MIDDLE,))
    assert table.remove(NARROW) == CoveringChange(withdraw=(NARROW,))
    assert len(table) == 0


def test_what_a_hidden_selector_hid_stays_hidden_behind_its_cover():
    table = CoveringTable()
    for selector in (MIDDLE, NARROW, WIDE):
        table.add(selector)
    assert table.advertised == (WIDE,)
    assert not table.remove(MIDDLE)
    assert table.remove(WIDE) == CoveringChange(advertise=(NARROW,), withdraw=(WIDE,))


def test_removing_a_hidden_selector_changes_nothing():
    table = CoveringTable()
    table.add(WIDE)
    table.add(NARROW)
    assert not table.remove(NARROW)
    assert table.remove(WIDE) == CoveringChange(withdraw=(WIDE,))


def test_equal_selectors_are_counted():
    table = CoveringTable()
    assert table.add(parse("x>5"))
    assert not table.add(parse("(x > 5)"))
    assert not table.remove(MIDDLE)
    assert table.remove(MIDDLE) == CoveringChange(withdraw=(MIDDLE,))
    with pytest.raises(KeyError):
        table.remove(MIDDLE)


def test_everything_hides_everything():
    table = CoveringTable()
    table.add(OTHER)
    table.add(parse("a < b"))
    assert table.add(parse("")).withdraw == (OTHER, parse("a < b"))
    assert table.remove(parse("")).advertise == (OTHER, parse("a < b"))


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_what_is_advertised_selects_what_all_select(data, draws):
    chains = st.builds("a {} {}".format, st.sampled_from("<>="), st.sampled_from((0, 1, 2))).map(
        parse
    )
    pool = data.draw(st.lists(draws.selectors | chains, min_size=2, max_size=6))
    rows = data.draw(st.lists(draws.attribute_rows, min_size=3, max_size=8))
    table, held, told = CoveringTable(), [], {}
    for _ in range(data.draw(st.integers(1, 12))):
        if held and data.draw(st.booleans()):
            change = table.remove(held.pop(data.draw(st.integers(0, len(held) - 1))))
        else:
            selector = data.draw(st.sampled_from(pool))
            held.append(selector)
            change = table.add(selector)
        for selector in change.advertise:
            assert told.setdefault(selector.text, selector) is selector
        for selector in change.withdraw:
            del told[selector.text]
        assert {each.text for each in table.advertised} == told.keys()
        for row in rows:
            wanted = any(selects(each, row) for each in held)
            assert any(selects(each, row) for each in table.advertised) == wanted
    for hidden in held:
        assert any(covers(each, hidden) for each in table.advertised)


def test_placing_a_selector_has_a_bounded_cost(monkeypatch):
    """However many there are; what is not compared is advertised, and nothing is missed."""
    compared = 0

    def counted(wide, narrow):
        nonlocal compared
        compared += 1
        return covers(wide, narrow)

    monkeypatch.setattr(covering_table, "covers", counted)
    table = CoveringTable()
    most = covering_table.MOST_EFFORT // covering_table.LEAST_EFFORT
    selectors = [parse(f"x > {number} AND y < {number}") for number in range(most + 300)]
    for selector in selectors:
        before = compared
        table.add(selector)
        assert compared - before <= most
    wide = parse("x > -1 OR y < 9")
    table.add(wide)
    before = compared
    table.remove(wide)
    assert compared - before <= most
    assert {each.text for each in table.advertised} == {each.text for each in selectors}


def test_an_advertised_selector_stands_for_what_it_hides():
    table = CoveringTable()
    for selector in (WIDE, NARROW, OTHER):
        table.add(selector)
    assert table.stands_for_any(WIDE.text, {NARROW.text})
    assert table.stands_for_any(WIDE.text, {WIDE.text})
    assert not table.stands_for_any(OTHER.text, {NARROW.text})
    assert not table.stands_for_any(MIDDLE.text, {NARROW.text})
