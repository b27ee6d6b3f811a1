import math

import pytest

from penstock.content.selectors.expressions import ArithmeticOperator
from penstock.content.selectors.number_arithmetic import combine, negate

ADD, SUBTRACT = ArithmeticOperator.ADD, ArithmeticOperator.SUBTRACT
MULTIPLY, DIVIDE = ArithmeticOperator.MULTIPLY, ArithmeticOperator.DIVIDE
LARGEST, LEAST = 2**63 - 1, -(2**63)


@pytest.mark.parametrize(
    ("operator", "left", "right", "result"),
    [
        (ADD, 1, 2, 3),
        (ADD, 1, 2.5, 3.5),
        (SUBTRACT, 1, 2, -1),
        (MULTIPLY, 3, -2, -6),
        (DIVIDE, 7, 2, 3),
        (DIVIDE, -7, 2, -3),
        (DIVIDE, 7, -2, -3),
        (DIVIDE, 7, 2.0, 3.5),
        (DIVIDE, 1, 0, None),
        (DIVIDE, 1, 0.0, math.inf),
        (DIVIDE, -1.0, 0, -math.inf),
        (DIVIDE, 1.0, -0.0, -math.inf),
        (ADD, LARGEST, 1, 2.0**63),
        (SUBTRACT, LEAST, 1, -(2.0**63)),
        (MULTIPLY, 2**62, 4, 2.0**64),
        (DIVIDE, LEAST, -1, 2.0**63),
        (MULTIPLY, 1e308, 10, math.inf),
    ],
)
def test_combine(operator, left, right, result):
    found = combine(operator, left, right)
    assert found == result
    assert type(found) is type(result)


def test_undefined_float_results_are_nan():
    for left, right in ((0.0, 0), (math.nan, 0.0)):
        assert math.isnan(combine(DIVIDE, left, right))
    assert math.isnan(combine(SUBTRACT, math.inf, math.inf))


def test_negate():
    assert negate(5) == -5
    assert negate(-0.5) == 0.5
    assert negate(LEAST) == 2.0**63
    assert isinstance(negate(LEAST), float)
