"""Errors that a person at a terminal is told in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

FAILED: Final = 1
MISUSED: Final = 2
EXPECTATION_FAILED: Final = 3
INTERRUPTED: Final = 130


class UserError(Exception):
    """Something that the user can do something about; never shown with a traceback."""

    def __init__(self, what: str, status: int = FAILED) -> None:
        """``what`` is the whole line."""
        super().__init__(what)
        self.status = status


@contextmanager
def told_in_one_line(*kinds: type[Exception], status: int = FAILED) -> Iterator[None]:
    """Turn the expected errors of a library call into one line."""
    try:
        yield
    except kinds as error:
        raise UserError(" ".join(str(error).split()), status) from None
