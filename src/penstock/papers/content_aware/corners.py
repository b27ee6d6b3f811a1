"""The corners of the range that the improved law is meant for: 2 to 100 flows, 0.1 to 100 Mbit/s.

1. The flows and the link of ``datagram-many``, with other numbers.  Every flow wants three times
   its share, and half of the flows have a long round trip.
2. A flow learns from its own messages, so the time after which it is judged is that of some sixty
   of them where they are few: at 0.1 Mbit/s a hundred flows send one in 2.2 s each.
3. The queue has 45 messages in every corner: at 100 Mbit/s it is one millisecond long, a quarter of
   the publishers' jitter, and for a hundred flows it is less than one message each.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import msgspec

from penstock.lab.experiments.row import Row
from penstock.lab.experiments.table import at_least, at_most
from penstock.papers.content_aware import measures

FILE: Final = "datagram-many"
MESSAGE_BYTES: Final = 280
OVERLOAD: Final = 3.0
PREFIXES: Final = ("short-", "long-")


class Corner(msgspec.Struct, frozen=True):
    """How many flows share how much, and when they are judged."""

    flows: int
    mbits_per_s: float
    from_s: float
    to_s: float
    note: str = ""

    @property
    def name(self) -> str:
        """The run, for people and for ``--run``."""
        return f"{self.flows} flows, {self.mbits_per_s:g} Mbps"

    def overrides(self) -> dict[str, Any]:
        """What is other than in the file."""
        bytes_per_s = round(self.mbits_per_s * 125_000)
        rate = OVERLOAD * bytes_per_s / MESSAGE_BYTES / self.flows
        values: dict[str, Any] = {
            "duration_s": self.to_s,
            "links.near-far.bandwidth_bytes_per_s": bytes_per_s,
        }
        for kind in PREFIXES:
            values[f"clients.{kind}.count"] = self.flows // 2
            values[f"clients.{kind}publisher-.count"] = self.flows // 2
            values[f"clients.{kind}publisher-.rate_msgs_per_s"] = rate
        return values

    def rows(self) -> tuple[Row, ...]:
        """Losses and equality."""
        equal = partial(
            measures.jain_index, prefixes=PREFIXES, count=self.flows // 2, from_s=self.from_s
        )
        lost = partial(measures.lost_part, subject="", from_s=self.from_s)
        after = f"after {self.from_s:g} s"
        return (
            Row(self.name, f"messages lost {after}", "%", "–", at_most(0.5), laws=self.name,
                scale=100, measure=lost),
            Row(self.name, f"Jain's index {after}", "", "–", at_least(0.95), laws=self.name,
                measure=equal, note=self.note),
        )  # fmt: skip


CORNERS: Final = (
    Corner(2, 0.1, 30.0, 60.0),
    Corner(34, 0.1, 60.0, 120.0),
    Corner(
        100, 0.1, 135.0, 300.0,
        "a message of each flow in 2.2 s, and 45 places for a hundred flows",
    ),
    Corner(100, 1.0, 20.0, 40.0),
    Corner(20, 10.0, 12.0, 24.0),
    Corner(2, 100.0, 4.0, 8.0, "the queue is 1 ms long, the jitter 4 ms"),
)  # fmt: skip

CORNER_ROWS: Final = tuple(row for corner in CORNERS for row in corner.rows())
