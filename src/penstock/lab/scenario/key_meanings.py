"""What the keys of a table mean: the docstrings of the fields of its struct.

Python keeps no docstrings of fields, so they are read from the source of the class.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache

import msgspec


@cache
def key_meanings(kind: type[msgspec.Struct]) -> dict[str, str]:
    """The meaning of each key that has a docstring, with those of the structs it extends."""
    meanings: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if issubclass(each, msgspec.Struct) and each.__struct_fields__:
            meanings |= _docstrings(each)
    return meanings


def _docstrings(kind: type) -> dict[str, str]:
    source = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    (definition,) = source.body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for field, after in zip(definition.body, definition.body[1:], strict=False):
        text = _text(after)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and text:
            found[field.target.id] = " ".join(text.replace("``", "`").split())
    return found


def _text(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return value if isinstance(value, str) else ""
    return ""
