"""Rows beyond the paper: many flows, a flash crowd, links in series, the cost of a publisher."""

from __future__ import annotations

from functools import partial
from typing import Final

from penstock.lab.experiments.row import Row
from penstock.lab.experiments.table import at_least, at_most
from penstock.lab.scenario.model import Measurement
from penstock.papers.content_aware import measures
from penstock.papers.content_aware.publisher_cost import MEMORY, REPORT_TIME, TIME

SETTLED_S: Final = 20.0
JOINED_S: Final = 5.0 + 3.0
"""Three seconds after the crowd has joined."""

PROPORTIONAL_MSGS_PER_S: Final = 125_000 / 280 / 4
"""The proportionally fair rate over three links that a cross flow each shares."""

MANY: Final = "20 flows, two round trips, 1 Mbps"
CROWD: Final = "flash crowd: 100 filters of 1 % at once"
LOT: Final = "three links in series"

BEYOND: Final = (
    Row(MANY, "messages lost after 10 s", "%", "–", at_most(0.5), laws="many", scale=100,
        measure=partial(measures.lost_part, subject="", from_s=11.0)),
    Row(MANY, "Jain's index after 20 s", "", "–", at_least(0.95), laws="many",
        measure=partial(measures.jain_index, prefixes=("short-", "long-"), count=10,
                        from_s=SETTLED_S)),
    Row(CROWD, "messages lost from 3 s after", "%", "–", at_most(5), laws="flash crowd",
        scale=100, measure=partial(measures.lost_part, subject="", from_s=JOINED_S)),
    Row(LOT, "long flow's rate / proportionally fair rate", "", "–", at_least(0.9),
        laws="parking lot", scale=1 / PROPORTIONAL_MSGS_PER_S,
        measure=Measurement(metric="delivered_rate", subject="long", from_s=SETTLED_S, to_s=60.0),
        note="max-min would be 2: the law counts the sum of the delays"),
    Row("publisher with 2,000 flows", "memory of the flow table", "MB", "< 1", at_most(1),
        paper_law="publisher cost", measure=MEMORY),
    Row("publisher with 2,000 flows", "time of a publication / without flows", "x",
        "not tangible", paper_law="publisher cost", measure=TIME),
    Row("publisher with 2,000 flows", "time of a report", "µs", "not tangible",
        paper_law="publisher cost", measure=REPORT_TIME),
)  # fmt: skip
