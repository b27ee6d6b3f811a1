"""What the state of a store says of a log, to be held against the log itself.

1. With every change of the state the ends are written down of the logs that have grown since: what
   lies below them was durable, and may have been acknowledged.  It costs no sync of its own.
2. Closing a store in order writes down all ends, and that it was closed.
3. A log that ends below the end that is on record has lost what lies between.  Of one that reaches
   it, and was not closed in order, a commit at the very end may be missing all the same: it was not
   finished, or it was finished, acknowledged and damaged since.  Nothing on the disk tells which.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.core.intervals import Interval, Tick


class LogAccount(msgspec.Struct, frozen=True):
    """The end on record (0 if there is none), what is lost, and whether the store was closed."""

    end: Tick = 0
    lost: tuple[Interval, ...] = ()
    closed: bool = False


NO_ACCOUNT: Final = LogAccount()
