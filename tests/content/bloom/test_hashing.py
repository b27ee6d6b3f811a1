import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.bloom.hashing import (
    column_hashes,
    mixed,
    mixed_array,
    presence_hash,
    value_hash,
)
from penstock.content.rows.batch import Batch


@given(st.integers(0, 2**64 - 1))
def test_one_number_and_many_are_mixed_alike(number):
    assert int(mixed_array(np.array([number], np.uint64))[0]) == mixed(number)


@given(data=st.data())
def test_columns_and_single_values_are_hashed_alike(data, draws):
    value = data.draw(draws.values.filter(lambda each: not isinstance(each, bytes)))
    (column,) = Batch.from_rows([({"x": value}, b"")]).columns
    assert int(column_hashes(column)[0]) == value_hash("x", value)


def test_equal_numbers_hash_alike_and_other_things_do_not():
    assert value_hash("x", 5) == value_hash("x", 5.0)
    assert value_hash("x", 0.0) == value_hash("x", -0.0)
    different = [5, 5.5, "5", True, False, 2.0**63, -(2.0**63), math.inf]
    hashes = {value_hash("x", value) for value in different}
    hashes |= {value_hash("y", 5), presence_hash("x"), presence_hash("y")}
    assert len(hashes) == len(different) + 3


def test_bytes_equal_nothing():
    assert value_hash("x", b"5") is None


def test_hashes_are_part_of_the_protocol():
    # Both ends of a flow compute them; a change here needs a new version on the wire.
    assert value_hash("topic", "market/bonds") == 5554322070395148875
    assert value_hash("price", 95) == 16913267858950950103
    assert value_hash("price", 9.5) == 16005107359875728354
    assert value_hash("urgent", True) == 16840900225566220353
