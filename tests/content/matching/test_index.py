from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.matching.index import FEW_ROWS, KEPT_OUTCOMES, OPEN_BOXES, SelectorIndex
from penstock.content.rows.batch import Batch
from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import selects


def batch_of(rows):
    return Batch.from_rows([(row, b"") for row in rows])


def check(index, selectors, rows):
    """The index must say of these rows what the plain evaluator says."""
    batch = batch_of(rows)
    expected = {
        key: [at for at, row in enumerate(rows) if selects(selector, row)]
        for key, selector in selectors.items()
    }
    matches = index.match(batch)
    assert {key: found.tolist() for key, found in matches} == {
        key: found for key, found in expected.items() if found
    }
    for key, found in expected.items():
        assert matches.rows_of(key).tolist() == found
    any_row = [any(at in found for found in expected.values()) for at in range(len(rows))]
    outcome = index.match_any(batch)
    if isinstance(outcome, bool):
        assert any_row == [outcome] * len(rows)
    else:
        assert outcome.tolist() == any_row
        assert any(any_row)
        assert not all(any_row)
    for at, row in enumerate(rows):
        assert index.match_row(row) == sorted(key for key in expected if at in expected[key])


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_equals_the_plain_evaluator(data, draws):
    selectors = dict(enumerate(data.draw(st.lists(draws.selectors, max_size=6))))
    rows = data.draw(st.lists(draws.attribute_rows, max_size=12))
    index = SelectorIndex(selectors.items())
    check(index, selectors, rows)
    check(index, selectors, rows[:3])


def some_selector(random):
    parts = [
        f"n > {random.randrange(100)}",
        f"n BETWEEN {random.randrange(100)} AND {random.randrange(100)}",
        f"s = 's{random.randrange(20)}'",
        f"s LIKE 's{random.randrange(3)}%'",
        f"f < {random.random()}",
        "n < f",
        f"n IN ({random.randrange(100)}, {random.randrange(100)})",
    ]
    return parse(random.choice((" AND ", " OR ")).join(random.sample(parts, random.randint(1, 3))))


def some_row(random):
    row = {"n": random.randrange(100), "s": f"s{random.randrange(25)}", "f": random.random()}
    return {name: value for name, value in row.items() if random.random() < 0.9}


def test_adding_and_removing_while_matching():
    random = Random("index churn")
    index = SelectorIndex()
    held = {}
    key = 0
    for round_number in range(10):
        for _ in range(OPEN_BOXES // 2 if round_number % 2 else 3 * OPEN_BOXES // 2):
            held[key] = some_selector(random)
            index.add(key, held[key])
            key += 1
        rows = [some_row(random) for _ in range(FEW_ROWS + 4)]
        check(index, held, rows)
        for gone in random.sample(sorted(held), len(held) * 2 // 3):
            del held[gone]
            index.remove(gone)
        check(index, held, rows)
        assert len(index) == len(held)


def test_a_link_that_wants_everything_does_not_look_at_the_batch():
    index = SelectorIndex(
        [(1, parse("a = 1")), (2, parse("")), (3, parse("b IS NULL OR b > 0 OR NOT b > 0"))]
    )
    assert index.match_any(object()) is True
    index.remove(2)
    index.remove(3)
    assert index.match_any(batch_of([{"a": 2}])) is False


def test_everything_is_recognised_by_meaning():
    index = SelectorIndex([(1, parse("b IS NULL OR b IS NOT NULL"))])
    assert index.match_any(batch_of([{}])) is True
    assert index.match_row({"a": 1}) == [1]


def test_all_or_none_is_said_without_a_mask():
    index = SelectorIndex([(1, parse("a = 1")), (2, parse("a = 2"))])
    for count in (2, FEW_ROWS + 1):
        assert index.match_any(batch_of([{"a": 1}, {"a": 2}] * count)) is True
        assert index.match_any(batch_of([{"a": 3}, {}] * count)) is False
    assert index.match_any(batch_of([])) is False
    assert SelectorIndex().match_any(batch_of([{"a": 1}])) is False


def test_outcomes_are_remembered_until_the_index_changes():
    index = SelectorIndex([(1, parse("a > 1"))])
    batch = batch_of([{"a": n % 3} for n in range(20)])
    mask, matches = index.match_any(batch), index.match(batch)
    assert index.match_any(batch) is mask
    assert index.match(batch) is matches
    index.add(2, parse("a = 0"))
    assert index.match_any(batch).tolist() == [n % 3 != 1 for n in range(20)]
    for _ in range(KEPT_OUTCOMES):
        index.match(batch_of([{"a": 1}]))
    assert index.match(batch) is not matches


def test_a_remembered_mask_cannot_be_changed():
    index = SelectorIndex([(1, parse("a > 1"))])
    for count in (1, FEW_ROWS):
        mask = index.match_any(batch_of([{"a": 1}, {"a": 2}] * count))
        with pytest.raises(ValueError, match="read-only"):
            mask[0] = True


def test_keys_are_unique():
    index = SelectorIndex([(1, parse("a = 1"))])
    with pytest.raises(ValueError, match="key 1 is in use for the selector 'a = 1'"):
        index.add(1, parse("b = 1"))
    assert 1 in index
    assert index.selector(1) == parse("a = 1")
    with pytest.raises(KeyError):
        index.remove(2)


def test_a_selector_that_matches_nothing_takes_no_room():
    index = SelectorIndex([(1, parse("a = 1 AND a = 2"))])
    assert index.match_any(batch_of([{"a": 1}])) is False
    index.remove(1)
    assert len(index) == 0
