"""Errors that the command line reports in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

FAILED: Final = 1
MISUSED: Final = 2
EXPECTATION_FAILED: Final = 3
INTERRUPTED: Final = 130


class UserError(Exception):
    """An error that the user can fix; reported in one line, never with a traceback."""

    def __init__(self, what: str, status: int = FAILED) -> None:
        """``what`` is the complete line."""
        super().__init__(what)
        self.status = status


@contextmanager
def told_in_one_line(*kinds: type[Exception], status: int = FAILED) -> Iterator[None]:
    """Convert the expected errors of a library call into a ``UserError``."""
    try:
        yield
    except kinds as error:
        raise UserError(" ".join(str(error).split()), status) from None
