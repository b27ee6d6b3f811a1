"""The attributes that a datagram can carry."""

from __future__ import annotations

from typing import Final

from penstock.client.errors import InvalidAttribute
from penstock.client.publishing.row import Attributes, as_dict
from penstock.services.datagram.messages import Attribute

LARGEST_INTEGER: Final = 2**63 - 1
"""What the wire format holds."""


SIMPLE: Final = frozenset((str, float, bool))
"""Types of which every value can be carried; nearly all attributes are of one of them."""


def checked_attributes(attributes: Attributes | None) -> dict[str, Attribute]:
    """A copy of the attributes; raises ``InvalidAttribute``."""
    row: dict[str, Attribute] = {}
    for name, value in (attributes if type(attributes) is dict else as_dict(attributes)).items():
        if type(name) is str and type(value) in SIMPLE:
            row[name] = value  # type: ignore[assignment]  # the check is this one
            continue
        if not isinstance(name, str) or not isinstance(value, str | int | float | bool):
            raise InvalidAttribute(
                f"attribute {name!r} is {type(value).__name__}; the datagram service carries str, "
                "int, float and bool: put other values into the payload"
            )
        if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            raise InvalidAttribute(f"attribute {name!r}: {value} does not fit 64 bits")
        row[name] = value
    return row
