"""A cache of results that depend on a message's attributes alone, such as the filters it matches.

Matching one row costs a few microseconds, and most messages of a publisher have the same
attributes.  The key is the encoding of the attributes, which distinguishes 1, 1.0 and true, as
Python's equality does not.  The owner calls ``forget`` when the results may have changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

from penstock.services.datagram.messages import Attribute

Found = TypeVar("Found")

KEPT_ANSWERS: Final = 4096
"""Results kept; beyond this the whole cache is cleared, which is cheaper than choosing one."""

_encode: Final = msgspec.msgpack.Encoder().encode


class AttributeCache(Generic[Found]):
    """Results of one function of attributes."""

    __slots__ = ("_answers", "_compute")

    def __init__(self, compute: Callable[[dict[str, Attribute]], Found]) -> None:
        """The results of ``compute`` are handed out repeatedly and must not be changed."""
        self._compute = compute
        self._answers: dict[bytes, Found] = {}

    def of(self, attributes: dict[str, Attribute]) -> Found:
        """The result for these attributes."""
        key = _encode(attributes)
        answers = self._answers
        if key in answers:
            return answers[key]
        if len(answers) >= KEPT_ANSWERS:
            answers.clear()
        found = answers[key] = self._compute(attributes)
        return found

    def forget(self) -> None:
        """Clear the cache."""
        self._answers.clear()
