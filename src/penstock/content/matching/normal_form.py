"""Selectors as unions of boxes.

A *box* asks of each of some attributes that its value lie in a set, and perhaps that further
conditions hold which relate several attributes.  A selector's normal form is the list of boxes
whose union is exactly the rows that it selects:

1. For every condition there are two forms: the boxes in which it is TRUE and those in which it is
   FALSE.  NOT exchanges them, so three-valued logic needs no rewriting: TRUE of an AND is the
   intersection of the TRUE forms, FALSE of an AND the union of the FALSE ones, and OR the reverse.
2. A condition on one attribute and constants is one box with one set; constants are calculated.
3. Any other condition (``a < b``, ``price * quantity > 100``) stays as a *residual*: a condition,
   and which truth is wanted.
4. Boxes that differ in one attribute only become one box with the union of its sets, so
   ``x = 1 OR x = 2`` is one box, and a set that holds every value is no constraint at all.
5. Intersecting unions multiplies boxes.  Where more than ``MAX_BOXES`` would arise, the larger
   operand stays as a residual: the form is still exact, but less of it can be indexed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

import msgspec

from penstock.content.matching.string_sets import TooComplicated
from penstock.content.matching.value_sets import (
    ANY_VALUE,
    NOTHING,
    PRESENT,
    ValueSet,
    among,
    compared_with,
    like,
    nullness,
)
from penstock.content.rows.columns import AttributeValue
from penstock.content.selectors import expressions as tree
from penstock.content.selectors.rowwise import compare, value_of
from penstock.content.selectors.selector import Selector

MAX_BOXES: Final = 32
"""More alternatives than people write by hand.  It bounds the index bits of one selector, and the
cost of covering, which grows with its square."""

KEPT_FORMS: Final = 4096
"""Bound on the normal forms that are kept for reuse."""


class Residual(msgspec.Struct, frozen=True, gc=False):
    """A condition that is evaluated row by row or column by column, and the truth it must have."""

    condition: tree.Condition
    wanted: bool


class Box(msgspec.Struct, frozen=True, gc=False):
    """Sets of values for attributes, sorted by name, and residual conditions; all must hold."""

    constraints: tuple[tuple[str, ValueSet], ...] = ()
    residuals: frozenset[Residual] = frozenset()

    def constraint(self, name: str) -> ValueSet:
        """What the box asks of an attribute."""
        return dict(self.constraints).get(name, ANY_VALUE)

    def __and__(self, other: Box) -> Box | None:
        """The box of rows that are in both, or None if there can be none."""
        sets = dict(self.constraints)
        for name, wanted in other.constraints:
            both = sets[name] & wanted if name in sets else wanted
            if not both:
                return None
            sets[name] = both
        residuals = self.residuals | other.residuals
        if any(Residual(each.condition, not each.wanted) in residuals for each in residuals):
            return None
        return Box(tuple(sorted(sets.items(), key=_by_name)), residuals)


Boxes: TypeAlias = tuple[Box, ...]

EVERY_ROW: Final = Box()
NO_ATTRIBUTES: Final[dict[str, AttributeValue]] = {}
"""The row in which constant expressions are calculated."""

NO_BOXES: Final[Boxes] = ()


def normal_form(selector: Selector) -> Boxes:
    """The boxes whose union is what the selector selects."""
    return _kept(selector.condition)


def normal_form_anew(selector: Selector) -> Boxes:
    """The same without keeping it, for selectors that are not asked about again."""
    return _wanted(selector.condition, True)


@lru_cache(maxsize=KEPT_FORMS)
def _kept(condition: tree.Condition) -> Boxes:
    return _wanted(condition, True)


def _wanted(condition: tree.Condition, truth: bool) -> Boxes:
    """The boxes in which a condition has this truth."""
    try:
        match condition:
            case tree.Constant(value):
                return (EVERY_ROW,) if value is truth else NO_BOXES
            case tree.Not(operand):
                return _wanted(operand, not truth)
            case tree.And(operands):
                join = _intersection if truth else _union
                return join(operands, truth)
            case tree.Or(operands):
                join = _union if truth else _intersection
                return join(operands, truth)
            case _:
                return _leaf(condition, truth)
    except TooComplicated:
        return _residual(condition, truth)


def _leaf(condition: tree.Condition, truth: bool) -> Boxes:
    """A condition without logic: a set of one attribute, a constant, or a residual."""
    match condition:
        case tree.Comparison():
            return _comparison(condition, truth)
        case tree.Between():
            return _wanted(_written_out(condition), truth)
        case tree.In(attribute):
            return _single(attribute, _outcome(among(condition), truth))
        case tree.Like(attribute):
            return _single(attribute, _outcome(like(condition), truth))
        case tree.IsNull(attribute):
            holding = nullness(condition)
            return _single(attribute, holding if truth else ANY_VALUE - holding)
        case _:
            return _residual(condition, truth)


def _comparison(condition: tree.Comparison, truth: bool) -> Boxes:
    """Two constants, an attribute and a constant, or a residual."""
    operator, left, right = condition.operator, condition.left, condition.right
    if _is_fixed(left) and _is_fixed(right):
        found = compare(operator, value_of(left, NO_ATTRIBUTES), value_of(right, NO_ATTRIBUTES))
        return (EVERY_ROW,) if found is truth else NO_BOXES
    if _is_fixed(left):
        operator, left, right = tree.MIRRORED[operator], right, left
    if isinstance(left, tree.Attribute) and _is_fixed(right):
        bound = value_of(right, NO_ATTRIBUTES)
        if bound is None:
            return NO_BOXES
        return _single(left, _outcome(compared_with(operator, bound), truth))
    return _residual(condition, truth)


def _written_out(condition: tree.Between) -> tree.Condition:
    """BETWEEN as the comparisons that define it."""
    value, low, high = condition.value, condition.low, condition.high
    if condition.negated:
        below = tree.Comparison(tree.ComparisonOperator.LESS, value, low)
        return tree.Or((below, tree.Comparison(tree.ComparisonOperator.GREATER, value, high)))
    above = tree.Comparison(tree.ComparisonOperator.GREATER_OR_EQUAL, value, low)
    return tree.And((above, tree.Comparison(tree.ComparisonOperator.LESS_OR_EQUAL, value, high)))


def _is_fixed(value: tree.Value) -> bool:
    """Whether a value is the same for every row."""
    return not any(isinstance(node, tree.Attribute) for node, _ in tree.walk(value))


def _outcome(holding: ValueSet, truth: bool) -> ValueSet:
    """Where a condition on one attribute has this truth; only absence makes it UNKNOWN."""
    return holding if truth else PRESENT - holding


def _single(attribute: tree.Attribute, wanted: ValueSet) -> Boxes:
    """One constraint as a form."""
    if wanted == NOTHING:
        return NO_BOXES
    if wanted == ANY_VALUE:
        return (EVERY_ROW,)
    return (Box(((attribute.name, wanted),)),)


def _residual(condition: tree.Condition, truth: bool) -> Boxes:
    return (Box(residuals=frozenset({Residual(condition, truth)})),)


def _intersection(operands: tuple[tree.Condition, ...], truth: bool) -> Boxes:
    """All operands have this truth; those that would multiply boxes too far become residuals."""
    forms = [(_wanted(each, truth), each) for each in operands]
    forms.sort(key=lambda pair: len(pair[0]))
    boxes: Boxes = (EVERY_ROW,)
    residuals: list[Residual] = []
    for form, operand in forms:
        if len(boxes) * len(form) > MAX_BOXES:
            residuals.append(Residual(operand, truth))
            continue
        try:
            boxes = _crossed(boxes, form)
        except TooComplicated:
            residuals.append(Residual(operand, truth))
    if residuals:
        # All at once: one after another would take time with the square of their number.
        boxes = _crossed(boxes, (Box(residuals=frozenset(residuals)),))
    return _merged(boxes)


def _crossed(first: Boxes, second: Boxes) -> Boxes:
    crossed = (one & two for one in first for two in second)
    return tuple(dict.fromkeys(box for box in crossed if box is not None))


def _union(operands: tuple[tree.Condition, ...], truth: bool) -> Boxes:
    """At least one operand has this truth."""
    boxes = _merged(tuple(box for each in operands for box in _wanted(each, truth)))
    if len(boxes) > MAX_BOXES:
        return _residual(tree.Or(operands) if truth else tree.And(operands), truth)
    return boxes


def _merged(boxes: Boxes) -> Boxes:
    """Rule 4, attribute by attribute until nothing changes."""
    count = 0
    while count != len(boxes):
        count = len(boxes)
        for name in sorted({name for box in boxes for name, _ in box.constraints}):
            boxes = _merged_along(name, boxes)
    return (EVERY_ROW,) if EVERY_ROW in boxes else boxes


def _merged_along(name: str, boxes: Boxes) -> Boxes:
    """Unite the boxes that differ in what they ask of one attribute only."""
    alike: dict[Box, list[ValueSet]] = {}
    for box in boxes:
        rest = tuple(each for each in box.constraints if each[0] != name)
        alike.setdefault(Box(rest, box.residuals), []).append(box.constraint(name))
    made: list[Box] = []
    for rest_box, sets in alike.items():
        for wanted in _united(sets):
            asked = () if wanted == ANY_VALUE else ((name, wanted),)
            constraints = tuple(sorted(rest_box.constraints + asked, key=_by_name))
            made.append(Box(constraints, rest_box.residuals))
    return tuple(made)


def _united(sets: list[ValueSet]) -> list[ValueSet]:
    """The union as one set, or the sets as they are where that would be too complicated."""
    united = NOTHING
    try:
        for each in sets:
            united |= each
    except TooComplicated:
        return sets
    return [united]


def _by_name(constraint: tuple[str, ValueSet]) -> str:
    return constraint[0]
