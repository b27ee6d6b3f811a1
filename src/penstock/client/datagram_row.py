"""The attributes that a datagram can carry."""

from __future__ import annotations

from typing import Final

from penstock.client.errors import InvalidAttribute
from penstock.client.row import Attributes, as_dict
from penstock.datagram.messages import Attribute

LARGEST_INTEGER: Final = 2**63 - 1
"""What the wire format holds."""


def checked_attributes(attributes: Attributes | None) -> dict[str, Attribute]:
    """A copy of the attributes; raises ``InvalidAttribute``."""
    row: dict[str, Attribute] = {}
    for name, value in as_dict(attributes).items():
        if not isinstance(name, str) or not isinstance(value, str | int | float | bool):
            raise InvalidAttribute(
                f"attribute {name!r} is {type(value).__name__}; the datagram service carries str, "
                "int, float and bool: put other values into the payload"
            )
        if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            raise InvalidAttribute(f"attribute {name!r}: {value} does not fit 64 bits")
        row[name] = value
    return row
