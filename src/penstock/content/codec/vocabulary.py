"""The types of messages that a decoder accepts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any

from penstock.core.message import Message


def union_of(message_types: Iterable[type[Message]]) -> Any:
    """The union that msgspec decodes; a tag tells its members apart."""
    return reduce(or_, message_types)
