from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.bloom.encoding import (
    MAX_ALTERNATIVES,
    PAPER_SHAPE,
    BloomShape,
    encode_batch,
    encode_filter,
    encode_message,
    encoding_bytes,
    encoding_from_bytes,
    expected_false_positive_rate,
    match_batch,
)
from penstock.content.rows.batch import Batch
from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import selects

SHAPES = (PAPER_SHAPE, BloomShape(bits=64, hashes=1), BloomShape(bits=512, presence_hashes=2))


def batch_of(rows):
    return Batch.from_rows([(row, b"") for row in rows])


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_what_matches_exactly_matches_encoded(data, shape, draws):
    selectors = data.draw(st.lists(draws.selectors, min_size=1, max_size=4))
    rows = data.draw(st.lists(draws.attribute_rows, min_size=1, max_size=6))
    filters = [encode_filter(selector, shape) for selector in selectors]
    found = match_batch(filters, encode_batch(batch_of(rows), shape))
    for at, row in enumerate(rows):
        for position, selector in enumerate(selectors):
            if selects(selector, row):
                assert found[at, position]
            single = filters[position].matches(encode_message(row, shape))
            assert bool(found[at, position]) is single


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_batches_and_single_messages_are_encoded_alike(data, shape, draws):
    rows = data.draw(st.lists(draws.attribute_rows, max_size=6))
    encoded = encode_batch(batch_of(rows), shape)
    assert encoded.shape == (len(rows), shape.words)
    assert [encoding_from_bytes(words.tobytes()) for words in encoded] == [
        encode_message(row, shape) for row in rows
    ]


@pytest.mark.parametrize("attributes", [10, 20])
@pytest.mark.parametrize("equalities", [1, 2])
def test_false_positives_are_as_rare_as_theory_says(attributes, equalities):
    random = Random(f"bloom/{attributes}/{equalities}")
    rows = [{f"k{n}": random.randrange(10**9) for n in range(attributes)} for _ in range(2000)]
    # The messages hold no negative number, so every match is a false positive.
    filters = [
        encode_filter(
            parse(" AND ".join(f"k{n} = {-1 - random.randrange(10**9)}" for n in range(equalities)))
        )
        for _ in range(1000)
    ]
    measured = match_batch(filters, encode_batch(batch_of(rows))).mean()
    expected = expected_false_positive_rate(
        PAPER_SHAPE, attributes=attributes, equalities=equalities
    )
    # With two equalities there are few events to count, hence the wider band.
    assert measured == pytest.approx(expected, rel=0.15 if equalities == 1 else 0.6)


def test_the_figures_of_the_paper_s_size():
    rates = [
        expected_false_positive_rate(PAPER_SHAPE, attributes=n, equalities=1) for n in (10, 20)
    ]
    assert rates == pytest.approx([0.0014, 0.0092], abs=0.00005)


@pytest.mark.parametrize(
    ("wide", "narrow", "covers"),
    [
        ("a = 1", "a = 1 AND b = 2", True),
        ("a = 1 AND b = 2", "a = 1", False),
        ("", "a = 1", True),
        ("a IN (1, 2)", "a = 2", True),
        ("a = 2", "a IN (1, 2)", False),
        ("a = 1 OR b = 2", "b = 2 AND c = 3", True),
        ("a = 1", "FALSE", True),
    ],
)
def test_covering_of_equalities(wide, narrow, covers):
    assert encode_filter(parse(wide)).may_cover(encode_filter(parse(narrow))) is covers


def test_ranges_are_seen_only_as_presence():
    assert encode_filter(parse("x > 5")).alternatives == (0,)
    shape = BloomShape(presence_hashes=1)
    ranged = encode_filter(parse("x > 5"), shape)
    assert ranged.matches(encode_message({"x": 1}, shape))
    assert not ranged.matches(encode_message({"y": 1}, shape))
    assert ranged.may_cover(encode_filter(parse("x = 7"), shape))


def test_alternatives_are_bounded():
    one_list = encode_filter(parse(f"x IN ({', '.join(map(str, range(16)))})"))
    assert len(one_list.alternatives) == MAX_ALTERNATIVES
    too_long = encode_filter(parse(f"y = 1 AND x IN ({', '.join(map(str, range(17)))})"))
    assert too_long.alternatives == encode_filter(parse("y = 1")).alternatives
    boxes = " OR ".join(f"(y = 1 AND x{n} = {n})" for n in range(20))
    assert encode_filter(parse(boxes)).alternatives == encode_filter(parse("y = 1")).alternatives


def test_a_filter_that_nothing_matches():
    nothing = encode_filter(parse("FALSE"))
    assert nothing.alternatives == ()
    assert not nothing.matches(encode_message({"a": 1}))
    assert not match_batch([nothing], encode_batch(batch_of([{"a": 1}]))).any()


def test_encodings_travel_as_bytes():
    encoding = encode_message({"a": 1, "b": "x"})
    data = encoding_bytes(encoding)
    assert len(data) == 32
    assert encoding_from_bytes(data) == encoding


@pytest.mark.parametrize(
    "wrong", [{"bits": 100}, {"bits": 0}, {"hashes": 0}, {"presence_hashes": -1}]
)
def test_impossible_shapes_are_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        BloomShape(**wrong)


@pytest.mark.parametrize(
    ("selector", "exact"),
    [
        ("kind = 'a'", True),
        ("kind = 'a' AND turn IN (1, 2, 3)", True),
        ("kind = 'a' OR turn = 1", True),
        ("", True),
        ("turn < 4", False),
        ("kind = 'a' AND turn < 4", False),
        ("kind LIKE 'a%'", False),
        ("kind IS NULL", False),
        ("kind IS NOT NULL", False),
        ("low < high", False),
        ("kind = 'a' OR low < high", False),
        (f"turn IN ({', '.join(map(str, range(MAX_ALTERNATIVES + 1)))})", False),
    ],
)
def test_an_encoding_knows_whether_something_was_left_out(selector: str, exact: bool) -> None:
    assert encode_filter(parse(selector)).exact is exact
