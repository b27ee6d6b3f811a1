"""What an application publishes, copied into a row that the application cannot change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from penstock.content.rows.columns import AttributeValue, Buffer

Attributes: TypeAlias = Mapping[str, AttributeValue]


def as_dict(attributes: Attributes | None) -> dict[str, AttributeValue]:
    """A copy of the attributes; None stands for none."""
    if attributes is None:
        return {}
    if isinstance(attributes, Mapping):
        return dict(attributes)
    raise TypeError(
        f"attributes are a mapping from names to values, not {type(attributes).__name__}"
    )


def as_bytes(payload: Buffer) -> bytes:
    """A copy of the payload, if its owner could change it."""
    if isinstance(payload, bytes | bytearray | memoryview):
        return bytes(payload)
    hint = "; encode it first" if isinstance(payload, str) else ""
    raise TypeError(f"a payload is bytes, not {type(payload).__name__}{hint}")
