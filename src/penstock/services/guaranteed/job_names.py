"""The name under which the readers of a job connect, so that its cursor finds them again."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 200
"""Characters of a cursor's name in the names of its readers, which are longer and have a limit."""


def reader_name(cursor: str) -> str:
    """The name of a client that reads for the job of a cursor."""
    return f"reader of {cursor[:LONGEST]}"


def reads_for(subscription: str, cursor: str) -> bool:
    """Whether a subscription belongs to a client of this name: ``NAME/NUMBER``."""
    return subscription.startswith(f"{reader_name(cursor)}/")
