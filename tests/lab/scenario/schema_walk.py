"""Checks a value against a JSON schema, as far as the schema of scenarios goes.

A keyword that is not known here is an error, so that none is left unchecked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
WITHOUT_EFFECT = {"$schema", "$defs", "title", "description", "default"}
BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, bound: value >= bound,
    "exclusiveMinimum": lambda value, bound: value > bound,
    "maximum": lambda value, bound: value <= bound,
    "exclusiveMaximum": lambda value, bound: value < bound,
    "minLength": lambda value, bound: len(value) >= bound,
    "maxLength": lambda value, bound: len(value) <= bound,
    "minItems": lambda value, bound: len(value) >= bound,
    "maxItems": lambda value, bound: len(value) <= bound,
    "minProperties": lambda value, bound: len(value) >= bound,
    "maxProperties": lambda value, bound: len(value) <= bound,
    "pattern": lambda value, bound: re.search(bound, value) is not None,
    "const": lambda value, bound: value == bound,
    "enum": lambda value, bound: value in bound,
    "required": lambda value, bound: set(bound) <= set(value),
}


def problems(schema: Any, value: Any, root: dict[str, Any], where: str = "$") -> list[str]:
    """What is wrong with a value; nothing if it is valid."""
    if isinstance(schema, bool):
        return [] if schema else [f"{where}: not allowed"]
    kind = schema.get("type")
    if kind is not None and not (
        isinstance(value, KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))
    ):
        return [f"{where}: expected {kind}, got {value!r}"]
    found = []
    for keyword, argument in schema.items():
        if keyword in BOUNDS:
            if not BOUNDS[keyword](value, argument):
                found.append(f"{where}: {keyword} {argument} does not hold for {value!r}")
        elif keyword == "$ref":
            found += problems(root["$defs"][argument.rpartition("/")[2]], value, root, where)
        elif keyword in ("anyOf", "oneOf"):
            found += _alternatives(keyword, argument, value, root, where)
        elif keyword == "properties":
            for key in argument.keys() & value.keys():
                found += problems(argument[key], value[key], root, f"{where}.{key}")
        elif keyword == "additionalProperties":
            for key in value.keys() - schema.get("properties", {}).keys():
                found += problems(argument, value[key], root, f"{where}.{key}")
        elif keyword == "prefixItems":
            for number, (item, each) in enumerate(zip(argument, value, strict=False)):
                found += problems(item, each, root, f"{where}[{number}]")
        elif keyword == "items":
            first = len(schema.get("prefixItems", ()))
            for number, each in enumerate(value[first:], first):
                found += problems(argument, each, root, f"{where}[{number}]")
        else:
            assert keyword == "type" or keyword in WITHOUT_EFFECT, keyword
    return found


def _alternatives(
    keyword: str, schemas: list[Any], value: Any, root: dict[str, Any], where: str
) -> list[str]:
    each = [problems(schema, value, root, where) for schema in schemas]
    valid = sum(not found for found in each)
    if valid == 1 or (valid > 1 and keyword == "anyOf"):
        return []
    return [f"{where}: {valid} of {len(schemas)} alternatives hold", *min(each, key=len)]
