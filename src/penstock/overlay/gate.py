"""Checks what the types of messages cannot express: that selectors are valid, intervals are not
empty, and rows are well-formed.

The network and the simulator check every message of a neighbour or a client here before a machine
receives it.  The fields to check follow from their types (the marks in ``core/limits.py``), so that
a new message needs no entry here.

An honest broker sends selectors in their canonical form, so any other form is a breach of protocol
too: a broker's tables count selectors by their text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import inspect

from penstock.content.rows.batch import Batch
from penstock.content.rows.block import MalformedBlock
from penstock.content.rows.frame import NO_ROWS, Frame
from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.parser import parse
from penstock.core.limits import FILTER_MARK, INTERVAL_MARK, LIVE_FILTER, ROWS_MARK, SELECTOR_MARK
from penstock.core.message import Message

Check: TypeAlias = Callable[[Any], str]
"""Returns the problem of a value, or an empty string."""


def objection(message: Message) -> str:
    """Why a message must not reach a machine, naming the field; empty if it is valid."""
    checks = _checks(type(message))
    for name, check in checks:
        problem = check(getattr(message, name))
        if problem:
            return f"{type(message).__name__}.{name} {problem}"
    return ""


@cache
def _checks(kind: type[msgspec.Struct]) -> tuple[tuple[str, Check], ...]:
    """The fields of a message type that need checks beyond their types."""
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    found = ((field.name, _check_of(field.type)) for field in described.fields)
    return tuple((name, check) for name, check in found if check is not None)


def _check_of(described: inspect.Type) -> Check | None:
    match described:
        case inspect.Metadata(type=inner, extra=extra):
            marked = (mark for mark in _MARKED if extra and mark in extra)
            mark = next(marked, None)
            return _MARKED[mark] if mark is not None else _check_of(inner)
        case inspect.VarTupleType(item_type=item):
            return _every(_check_of(item))
        case inspect.UnionType(types=types):
            return _optional(types)
        case inspect.StructType(cls=kind) if _checks(kind):
            return objection
        case inspect.CustomType():
            return _damage
    return None


def _every(check: Check | None) -> Check | None:
    if check is None:
        return None
    return lambda values: next((problem for each in values if (problem := check(each))), "")


def _optional(types: tuple[inspect.Type, ...]) -> Check | None:
    """The check of an optional value; None passes."""
    check = next((found for each in types if (found := _check_of(each))), None)
    if check is not None:
        return lambda value: "" if value is None else check(value)
    kinds = [each.cls for each in types if isinstance(each, inspect.StructType)]
    if any(_checks(kind) for kind in kinds):
        return lambda value: "" if value is None else objection(value)
    return None


def _selector_problem(text: str) -> str:
    try:
        canonical = parse(text).text
    except SelectorError as error:
        return f"is not a selector: {error}"
    return "" if canonical == text else f"is not in its canonical form, {canonical[:200]!r}"


def _filter_problem(text: str) -> str:
    return "" if text == LIVE_FILTER else _selector_problem(text)


def _interval_problem(interval: tuple[int, int]) -> str:
    low, high = interval
    return "" if low < high else f"holds the interval [{low}, {high}), which is empty"


def _rows_problem(rows: Batch | Frame) -> str:
    return _damage(rows) if len(rows) else "has no rows"


def _damage(rows: Batch | Frame) -> str:
    """The problem of rows that were not read before; a machine would raise when it reads them.

    With the compiled code this takes a few microseconds for a batch of any size.
    """
    batch = rows if isinstance(rows, Batch) else rows.batch
    if batch is NO_ROWS or batch.extent() is not None:
        return ""
    try:
        batch.validate()
    except MalformedBlock as error:
        return f"holds a malformed batch: {error}"
    return ""


_MARKED: Final[dict[str, Check]] = {
    SELECTOR_MARK: _selector_problem,
    FILTER_MARK: _filter_problem,
    INTERVAL_MARK: _interval_problem,
    ROWS_MARK: _rows_problem,
}
