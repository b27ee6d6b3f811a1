"""What 2,000 flows cost a publisher (Section IV: less than 1 MB, no tangible processor time).

1. Memory is what the flow table allocates for 2,000 reports of as many receivers, none of which
   covers another.
2. Processor time is that of a publication that belongs to one of these flows, by that of the same
   publication without any flow.  It is shown and not judged: it depends on the machine.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from time import process_time_ns
from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Instant
from penstock.services.datagram.messages import Feedback, FlowRequest
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.publisher.control import PublishingControl
from penstock.services.datagram.selectors import read_selector

FLOWS: Final = 2000
PUBLICATIONS: Final = 4000
MEMORY: Final = "memory of the flow table"
TIME: Final = "time of a publication"
BEGIN: Final[Instant] = SECOND


def _publisher() -> PublishingControl:
    parameters = DatagramParameters(max_flows=FLOWS)
    return PublishingControl("publisher@near", parameters, now=BEGIN)


def _report(number: int) -> Feedback:
    request = FlowRequest(1, f"topic = {number}", 1000.0, 900.0)
    return Feedback("publisher@near", f"s{number}@far", BEGIN, 0.0, MILLISECOND, (request,))


def _time_ns(publisher: PublishingControl) -> int:
    begun = process_time_ns()
    now = BEGIN
    for number in range(PUBLICATIONS):
        now += MILLISECOND
        publisher.offer(number, {"topic": number % FLOWS}, b"payload", now)
    return process_time_ns() - begun


def measured(seed: int) -> Mapping[str, float]:
    """Both quantities; the seed makes no difference."""
    without_ns = _time_ns(_publisher())
    publisher = _publisher()
    # The parser's own tables are made when it is first used, and are no part of the flow table.
    read_selector("topic = 'none of these'")
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(FLOWS):
        publisher.feedback(_report(number), BEGIN)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    ratio = _time_ns(publisher) / max(1, without_ns)
    return {MEMORY: (after - before) / 1e6, TIME: ratio}
