from penstock.content.selectors.expressions import (
    BooleanLiteral,
    Constant,
    FloatLiteral,
    IntegerLiteral,
    attribute_names,
    children,
    walk,
)
from penstock.content.selectors.parser import parse


def test_literals_of_different_types_differ():
    literals = [IntegerLiteral(1), FloatLiteral(1.0), BooleanLiteral(True), Constant(True)]
    assert len(set(literals)) == 4


def test_walk_meets_every_node_once_parents_first():
    condition = parse("a = 1 AND NOT (b LIKE 'x' OR c IN (1, 2)) AND -d + 1 > 2").condition
    met = list(walk(condition))
    assert met[0] == (condition, 1)
    # The AND; a = 1 (3 nodes); NOT, OR, LIKE (2), IN (4); the comparison with its sum (6).
    assert len(met) == 1 + 3 + 8 + 6
    assert max(depth for _, depth in met) == 5
    for node, depth in met:
        for child in children(node):
            assert (child, depth + 1) in met


def test_attribute_names_are_sorted_and_distinct():
    condition = parse("b > a AND b IS NULL AND c BETWEEN a AND d").condition
    assert attribute_names(condition) == ["a", "b", "c", "d"]
