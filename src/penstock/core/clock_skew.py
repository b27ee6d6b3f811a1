"""Streams that are ahead of the clock.

Ticks are time: a publication takes the present instant, or the end of its stream if that is later.
A broker whose clock was far ahead for a while, or is far behind now, has a stream that ends in the
future.  Nothing is lost, but ticks do not tell the time until the clock has caught up: new messages
are stamped from the end of the stream on, and a subscription that starts at a time gets messages
that were published long before it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from penstock.core.clock import SECOND, Duration, Instant, in_seconds
from penstock.core.intervals import Tick

TOLERATED: Final[Duration] = 60 * SECOND
"""Clocks that NTP synchronises differ by far less, and so does a broker's after a restart."""

DAY_S: Final = 86_400


def ahead_of(clock: Instant, end: Tick) -> Duration:
    """By how much the end of a stream is ahead of a clock; 0 within the tolerance."""
    ahead = end - clock
    return ahead if ahead > TOLERATED else 0


def describe_ahead(pubend: str, end: Tick, ahead: Duration) -> str:
    """The problem as a sentence for an operator."""
    return (
        f"pubend {pubend!r} is ahead of this broker's clock by {span(ahead)}: its stream ends at "
        f"{_shown(end)}, and the clock says {_shown(end - ahead)}; the clock was ahead once, or is "
        "behind now. New messages are stamped from the end of the stream on until the clock has "
        "caught up, and subscriptions that start at a time before that get all of them"
    )


def span(duration: Duration) -> str:
    """A duration for people."""
    seconds = in_seconds(duration)
    return f"{seconds / DAY_S:.1f} days" if seconds >= DAY_S else f"{seconds:.0f} s"


def _shown(instant: Instant) -> str:
    return datetime.fromtimestamp(instant // SECOND, UTC).isoformat(" ")
