"""What was found for a message's attributes, kept for the next message that has the same.

Matching one row costs a few microseconds, and most publishers say the same of most of their
messages.  The key is the attributes' encoding, which tells 1, 1.0 and true apart where Python's
own equality does not.  Whoever changes what the answers depend on must say ``forget``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

from penstock.services.datagram.messages import Attribute

Found = TypeVar("Found")

KEPT_ANSWERS: Final = 4096
"""Bound on what is kept; beyond it everything is forgotten, which costs less than choosing."""

_encode: Final = msgspec.msgpack.Encoder().encode


class Remembered(Generic[Found]):
    """A question about attributes, with the answers that were given to it."""

    __slots__ = ("_answers", "_ask")

    def __init__(self, ask: Callable[[dict[str, Attribute]], Found]) -> None:
        """``ask`` answers anew; what it returns is handed out again and must not be changed."""
        self._ask = ask
        self._answers: dict[bytes, Found] = {}

    def of(self, attributes: dict[str, Attribute]) -> Found:
        """The answer for these attributes."""
        key = _encode(attributes)
        answers = self._answers
        if key in answers:
            return answers[key]
        if len(answers) >= KEPT_ANSWERS:
            answers.clear()
        found = answers[key] = self._ask(attributes)
        return found

    def forget(self) -> None:
        """Nothing that was found holds any more."""
        self._answers.clear()
