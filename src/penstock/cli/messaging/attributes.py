"""Parses attributes on a command line: ``name=text`` or ``name:type=value``."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import Any, Final

from penstock.cli.errors import MISUSED, UserError
from penstock.content.rows.columns import AttributeValue


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return text.lower() == "true"


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


TYPES: Final[dict[str, Callable[[str], AttributeValue]]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": _boolean,
    "bytes": _bytes,
}


def parse_attributes(words: Iterable[str]) -> dict[str, AttributeValue]:
    """Parse the values of ``--attr``; raises ``UserError``."""
    attributes: dict[str, AttributeValue] = {}
    for word in words:
        left, equals, text = word.partition("=")
        name, colon, kind = left.partition(":")
        if not equals or not name:
            raise UserError(f"--attr {word!r}: write name=text or name:type=value", MISUSED)
        read = TYPES.get(kind if colon else "str")
        if read is None:
            known = ", ".join(TYPES)
            raise UserError(f"--attr {word!r}: type {kind!r} is not one of {known}", MISUSED)
        try:
            attributes[name] = read(text)
        except ValueError as error:
            problem = f"--attr {word!r}: {text!r} is not of type {kind}: {error}"
            raise UserError(problem, MISUSED) from None
    return attributes


def shown(value: AttributeValue) -> Any:
    """An attribute value for JSON; bytes become base64."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
