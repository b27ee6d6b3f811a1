"""What every store checks before it accepts an order (rules 1, 3 and 6 of ``interface``)."""

from __future__ import annotations

from penstock.core.clock import NEVER
from penstock.core.intervals import Tick
from penstock.store.interface import Failure, LogName, OutOfOrder, StoreOverloaded


class LogFront:
    """The end of what was accepted for a log, and the epoch in which it was accepted.

    An epoch ends when the caller says that it knows of a failure: appends of an earlier epoch fail.
    """

    __slots__ = ("accepted_high", "epoch", "name")

    def __init__(self, name: LogName, accepted_high: Tick = 0) -> None:
        self.name = name
        self.accepted_high = accepted_high
        self.epoch = 0

    def check(self, low: Tick, high: Tick) -> None:
        """Raise ``OutOfOrder`` unless a record can cover ``[low, high)``."""
        if not self.accepted_high <= low < high <= NEVER:
            raise OutOfOrder(
                f"log {self.name!r} ends at {self.accepted_high}, so a record cannot cover "
                f"[{low}, {high}); append at or above the end, and after a failure call "
                "resume_after first"
            )

    def resume_after(self, failure: Failure, end_high: Tick) -> None:
        """Begin a new epoch at the end of the log, unless the failure is of an earlier epoch.

        Everything accepted in the failed epoch has failed or will, so the end is final.
        """
        if self.epoch <= failure.epoch:
            self.epoch = failure.epoch + 1
            self.accepted_high = end_high


def check_room(pending_bytes: int, size_bytes: int, max_pending_bytes: int) -> None:
    """Raise ``StoreOverloaded`` if an order would exceed the bound; a single order always fits."""
    if pending_bytes and pending_bytes + size_bytes > max_pending_bytes:
        raise StoreOverloaded(
            f"{pending_bytes} bytes wait to be committed and {size_bytes} more would "
            f"exceed the bound of {max_pending_bytes}; try again after a commit"
        )
