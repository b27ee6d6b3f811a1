import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.selectors.expressions import ArithmeticOperator, ComparisonOperator
from penstock.content.selectors.number_arithmetic import combine, negate
from penstock.content.selectors.rowwise import compare
from penstock.content.selectors.value_vectors import (
    combine_vectors,
    compare_exactly,
    compare_vectors,
    constant_vector,
    negate_vector,
)

INTEGERS = (
    0, 1, -1, 3, -7, 2**31, 3_037_000_500, -3_037_000_500, 2**53, 2**53 + 1, 2**62,
    2**63 - 1025, 2**63 - 1, -(2**63), -(2**63) + 1,
)  # fmt: skip
FLOATS = (0.0, 0.5, -1.0, 2.0**53, 2.0**63, -(2.0**63), 1e308, math.inf, -math.inf, math.nan)
integers = st.integers(-(2**63), 2**63 - 1)
numbers = integers | st.floats()


def check_order(integer, number):
    (sign,) = compare_exactly(np.array([integer]), np.array([number]))
    if math.isnan(number):
        assert math.isnan(sign)
    else:
        assert sign == (integer > number) - (integer < number)


@given(integers, st.floats())
def test_integers_compare_with_floats_exactly(integer, number):
    check_order(integer, number)
    check_order(integer, float(integer))


def test_awkward_integers_compare_with_awkward_floats_exactly():
    for integer, number in product(INTEGERS, FLOATS):
        check_order(integer, number)


def only_value(vector):
    if vector.absent[0]:
        return None
    for lane, kind in ((vector.integers, int), (vector.floats, float)):
        if lane is not None and lane.rows[0]:
            return kind(lane.values[0])
    raise AssertionError("neither absent nor a number")


def same(first, second):
    if isinstance(first, float) and isinstance(second, float) and math.isnan(first):
        return math.isnan(second)
    return first == second and type(first) is type(second)


def check_arithmetic(operator, left, right):
    vector = combine_vectors(operator, constant_vector(left), constant_vector(right))
    assert same(only_value(vector), combine(operator, left, right)), (operator, left, right)


@given(st.sampled_from(ArithmeticOperator), numbers, numbers)
def test_arithmetic_is_that_of_single_numbers(operator, left, right):
    check_arithmetic(operator, left, right)


@pytest.mark.parametrize("operator", ArithmeticOperator)
def test_arithmetic_of_awkward_numbers(operator):
    for left, right in product((*INTEGERS, *FLOATS), repeat=2):
        check_arithmetic(operator, left, right)


def test_negation_is_that_of_single_numbers():
    for number in (*INTEGERS, *FLOATS):
        assert same(only_value(negate_vector(constant_vector(number))), negate(number))


@pytest.mark.parametrize("other", ["x", True, b"x"])
def test_arithmetic_with_anything_else_is_null(other):
    vector = combine_vectors(ArithmeticOperator.ADD, constant_vector(other), constant_vector(1))
    assert vector.absent.all()
    assert negate_vector(constant_vector(other)).absent.all()


values = numbers | st.sampled_from(("", "a", "b", True, False, b"", b"a"))


@given(st.sampled_from(ComparisonOperator), values, values)
def test_comparison_is_that_of_single_values(operator, left, right):
    true, unknown = compare_vectors(operator, constant_vector(left), constant_vector(right))
    assert not unknown[0]
    assert bool(true[0]) is compare(operator, left, right)
