"""The refusal of a selector: what is wrong, where, and what to write instead."""

from __future__ import annotations


class SelectorError(ValueError):
    """A selector that cannot be used.

    ``line`` and ``column`` count from 1 and are 0 where no single place is at fault.
    """

    def __init__(self, reason: str, *, line: int = 0, column: int = 0, hint: str = "") -> None:
        """The text of the error is one line with all of it."""
        place = f" at line {line}, column {column}" if line else ""
        advice = f" ({hint})" if hint else ""
        super().__init__(f"invalid selector{place}: {reason}{advice}")
        self.reason = reason
        self.line = line
        self.column = column
        self.hint = hint
