"""Tokens that tie an order to the store to the part of the machine that gave it."""

from __future__ import annotations


class Tokens:
    """Numbers each order once, and remembers whose it is until the answer comes."""

    __slots__ = ("_last", "_owners")

    def __init__(self) -> None:
        """No order has been given."""
        self._last = 0
        self._owners: dict[int, str] = {}

    def take(self, owner: str) -> int:
        """A new token for an order of this owner."""
        self._last += 1
        self._owners[self._last] = owner
        return self._last

    def settle(self, token: int) -> str | None:
        """Whose order was answered; each is answered once."""
        return self._owners.pop(token, None)

    def __len__(self) -> int:
        """How many orders are unanswered."""
        return len(self._owners)
