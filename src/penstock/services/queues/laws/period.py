"""The period of the control loop: as short as the tolerated overhead allows (Section IV.B).

The overhead is the ratio of monitoring messages to messages produced.  An iteration takes a
question and an answer for each queue, or only an answer where queues report by themselves.
"""

from __future__ import annotations

from penstock.core.clock import SECOND, Duration


def period_ns(
    monitoring_messages: int,
    overhead: float,
    produced_msgs_per_s: float,
    *,
    least: Duration,
    most: Duration,
) -> Duration:
    """The time until the next iteration."""
    if produced_msgs_per_s <= 0:
        return most
    seconds = monitoring_messages / (overhead * produced_msgs_per_s)
    return min(max(round(seconds * SECOND), least), most)
