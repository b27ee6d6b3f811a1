"""Puts the sentence of an error in front of Spark's user, without the frames that led to it.

Spark shows the traceback of an exception in Python with the exception at its end.  An error of our
own names its cause and the remedy, and where it was raised tells nobody more, so it is raised again
at the boundary to Spark: one frame is left.  Any other exception is a defect and keeps its frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any, Final, TypeVar

Kind = TypeVar("Kind", bound=type)

CALLED_BY_SPARK: Final = (
    "schema",
    "reader",
    "streamReader",
    "writer",
    "streamWriter",
    "initialOffset",
    "latestOffset",
    "reportLatestOffset",
    "prepareForTriggerAvailableNow",
    "partitions",
    "read",
    "write",
    "commit",
    "abort",
)


def plain_errors(kind: Kind) -> Kind:
    """Wrap the methods of a class that Spark calls."""
    for name in CALLED_BY_SPARK:
        method = vars(kind).get(name)
        if method is not None:
            setattr(kind, name, _plain_rows(method) if name == "read" else _plain(method))
    return kind


def _plain(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        told: Exception
        try:
            return method(*arguments, **named)
        except Exception as error:
            if not _is_our_own(error):
                raise
            told = error
        raise told.with_traceback(None) from None

    return call


def _plain_rows(method: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a method whose result is read piece by piece."""
    begin = method if isgeneratorfunction(method) else _plain(method)

    @wraps(method)
    def rows(*arguments: Any, **named: Any) -> Iterator[Any]:
        told: Exception
        try:
            yield from begin(*arguments, **named)
            return
        except Exception as error:
            if not _is_our_own(error):
                raise
            told = error
        raise told.with_traceback(None) from None

    return rows


def _is_our_own(error: Exception) -> bool:
    return type(error).__module__.startswith("penstock.")
