"""Checks a message against the limits of its type, for messages that no decoder has read.

The check of a type is built once, from the fields that ``msgspec`` reports.  Fields without a limit
of their own (flags, and rows, which are checked where they are decoded) cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import msgspec
from msgspec import inspect

from penstock.core.limits import ANY_MARK

Check: TypeAlias = Callable[[Any], str]
"""Returns what is wrong with a value; empty if nothing is."""


def violation(message: msgspec.Struct) -> str:
    """The first limit that a message exceeds, with its field; empty if it exceeds none."""
    return _struct_check(type(message))(message)


def unbounded_fields(kind: type[msgspec.Struct]) -> list[str]:
    """The fields of a type, and of the types in it, that have no limit."""
    found: list[str] = []
    _look_for_unbounded(inspect.type_info(kind), kind.__name__, found, ())
    return found


# -- checking --------------------------------------------------------------------------------------


@cache
def _struct_check(kind: type[msgspec.Struct]) -> Check:
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    checks = [
        (field.name, check)
        for field in described.fields
        if (check := _check_of(field.type)) is not None
    ]

    def check_struct(message: Any) -> str:
        for name, check in checks:
            problem = check(getattr(message, name))
            if problem:
                return f"{kind.__name__}.{name} {problem}"
        return ""

    return check_struct


def _check_of(described: inspect.Type) -> Check | None:
    match described:
        case inspect.Metadata(type=inner):
            return _check_of(inner)
        case inspect.IntType() | inspect.FloatType():
            return _range_check(described)
        case inspect.StrType(max_length=longest) | inspect.BytesType(max_length=longest):
            return None if longest is None else _length_check(longest)
        case inspect.VarTupleType(item_type=item, max_length=most):
            return _both(_length_check(most), _items_check(item))
        case inspect.TupleType(item_types=items):
            return _tuple_check(items)
        case inspect.DictType(key_type=key, value_type=value, max_length=most):
            keys, values = _items_check(key), _items_check(value)
            return _both(
                _length_check(most),
                lambda found: (
                    (keys(found) if keys else "") or (values(found.values()) if values else "")
                ),
            )
        case inspect.UnionType(types=types):
            return _union_check(types)
        case inspect.StructType(cls=kind):
            return _struct_check(kind)
    return None


def _range_check(described: inspect.IntType | inspect.FloatType) -> Check | None:
    least, most = _bounds(described)
    if least is None or most is None:
        return None

    def check(value: Any) -> str:
        # The comparison is written so that NaN fails it.
        return "" if least <= value <= most else f"is {value}; it must be {least} to {most}"

    return check


def _bounds(described: inspect.IntType | inspect.FloatType) -> tuple[Any, Any]:
    least, most = described.ge, described.le
    if least is None and described.gt is not None:
        least = described.gt + 1
    if most is None and described.lt is not None:
        most = described.lt - 1
    return least, most


def _length_check(most: int | None) -> Check | None:
    if most is None:
        return None
    return lambda value: (
        "" if len(value) <= most else f"has a length of {len(value)}; at most {most} are allowed"
    )


def _items_check(item: inspect.Type) -> Check | None:
    check = _check_of(item)
    if check is None:
        return None
    return lambda values: next((problem for each in values if (problem := check(each))), "")


def _tuple_check(items: tuple[inspect.Type, ...]) -> Check | None:
    checks = [(number, check) for number, each in enumerate(items) if (check := _check_of(each))]
    if not checks:
        return None
    return lambda value: next(
        (problem for number, check in checks if (problem := check(value[number]))), ""
    )


def _union_check(types: tuple[inspect.Type, ...]) -> Check | None:
    """Choose the alternative by the type of the value."""
    structs = {each.cls for each in types if isinstance(each, inspect.StructType)}
    plain = {
        python: check
        for each in types
        for python, kinds in _PYTHON_TYPES.items()
        if isinstance(_inner(each), kinds) and (check := _check_of(each))
    }
    if not structs and not plain:
        return None

    def check_union(value: Any) -> str:
        kind = type(value)
        if kind in structs:
            return _struct_check(kind)(value)
        found = plain.get(kind)
        return found(value) if found else ""

    return check_union


def _both(first: Check | None, second: Check | None) -> Check | None:
    if first is None or second is None:
        return first or second
    return lambda value: first(value) or second(value)


def _inner(described: inspect.Type) -> inspect.Type:
    return _inner(described.type) if isinstance(described, inspect.Metadata) else described


_PYTHON_TYPES: dict[type, type[inspect.Type]] = {
    int: inspect.IntType,
    float: inspect.FloatType,
    str: inspect.StrType,
    bytes: inspect.BytesType,
}

# -- finding fields without limits -----------------------------------------------------------------

_HARMLESS = (inspect.BoolType, inspect.NoneType, inspect.LiteralType, inspect.EnumType)


def _look_for_unbounded(
    described: inspect.Type, where: str, found: list[str], inside: tuple[type, ...]
) -> None:
    if isinstance(described, inspect.Metadata) and (described.extra or {}).get(ANY_MARK):
        return
    described = _inner(described)
    match described:
        case inspect.IntType() | inspect.FloatType():
            if None in _bounds(described):
                found.append(where)
        case inspect.StrType() | inspect.BytesType():
            if described.max_length is None:
                found.append(where)
        case inspect.VarTupleType(item_type=item):
            if described.max_length is None:
                found.append(where)
            _look_for_unbounded(item, f"{where}[]", found, inside)
        case inspect.TupleType(item_types=items):
            for number, item in enumerate(items):
                _look_for_unbounded(item, f"{where}[{number}]", found, inside)
        case inspect.DictType(key_type=key, value_type=value):
            if described.max_length is None:
                found.append(where)
            _look_for_unbounded(key, f"{where} (key)", found, inside)
            _look_for_unbounded(value, f"{where} (value)", found, inside)
        case inspect.UnionType(types=types):
            for each in types:
                _look_for_unbounded(each, where, found, inside)
        case inspect.StructType(cls=kind, fields=fields):
            if kind in inside:
                found.append(f"{where} (nests itself)")
                return
            for field in fields:
                _look_for_unbounded(field.type, f"{where}.{field.name}", found, (*inside, kind))
        case inspect.CustomType():
            # Rows, which are checked where they are decoded.
            pass
        case _:
            if not isinstance(described, _HARMLESS):
                found.append(where)
