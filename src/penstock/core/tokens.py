"""Tokens that connect an order to the store with the part of the machine that gave it."""

from __future__ import annotations


class Tokens:
    """Numbers the orders of one part, and remembers the owner of each until it is answered.

    Several parts of a machine share the numbers by taking every n-th one, so the token alone tells
    the part.
    """

    __slots__ = ("_last", "_owners", "_step")

    def __init__(self, part: int = 0, parts: int = 1) -> None:
        """The tokens of this part leave the remainder ``part`` when divided by ``parts``."""
        self._last = part
        self._step = parts
        self._owners: dict[int, str] = {}

    def take(self, owner: str) -> int:
        """Return a new token for an order of this owner."""
        self._last += self._step
        self._owners[self._last] = owner
        return self._last

    def settle(self, token: int) -> str | None:
        """Return the owner of an order that was answered, and forget it; None if it is unknown."""
        return self._owners.pop(token, None)

    def __len__(self) -> int:
        """How many orders are unanswered."""
        return len(self._owners)
