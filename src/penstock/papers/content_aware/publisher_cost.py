"""What 2,000 flows cost a publisher (Section IV: less than 1 MB, no tangible processor time).

1. 2,000 receivers report, each for a filter of its own, at different instants and with different
   quotas and round trips: equal numbers would be one object.  Then messages of all flows are
   published.
2. Memory is what a publisher with these flows has allocated after that, beyond one that has
   published the same messages without flows.  What stands in the free lists of the interpreter is
   not counted.
3. Processor time is that of a publication that belongs to one of these flows, by that of the same
   publication without any flow, and that of a report.  Both are shown and not judged: they depend
   on the machine.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Mapping
from time import process_time_ns
from typing import Final

from penstock.core.clock import MICROSECOND, MILLISECOND, SECOND, Duration, Instant
from penstock.services.datagram.messages import Feedback, FlowRequest
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.publisher.control import PublishingControl
from penstock.services.datagram.selectors import read_selector

FLOWS: Final = 2000
PUBLICATIONS: Final = 4000
ROUNDS: Final = 3
"""The quickest of so many rounds counts: other processes only make them longer."""

MEMORY: Final = "memory of the flow table"
TIME: Final = "time of a publication"
REPORT_TIME: Final = "time of a report"
BEGIN: Final[Instant] = SECOND


def _publisher() -> PublishingControl:
    parameters = DatagramParameters(max_flows=FLOWS)
    return PublishingControl("publisher@near", parameters, now=BEGIN)


def _report(number: int, now: Instant) -> Feedback:
    request = FlowRequest(1, f"topic = {number}", 1000.0 + number, 900.0 + number)
    round_trip = MILLISECOND + number
    sent_at = now - round_trip // 2
    return Feedback(
        "publisher@near", f"s{number}@far", sent_at, 1e-6 * number, round_trip, (request,)
    )


def _reports(publisher: PublishingControl, now: Instant) -> None:
    for number in range(FLOWS):
        publisher.feedback(_report(number, now + number), now + number)


def _publications(publisher: PublishingControl, now: Instant) -> None:
    for number in range(PUBLICATIONS):
        now += MILLISECOND // 10
        publisher.offer(number, {"topic": number % FLOWS}, b"payload", now)


def _memory_bytes(*, flows: bool) -> int:
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    publisher = _publisher()
    if flows:
        _reports(publisher, BEGIN)
    _publications(publisher, BEGIN)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    return after - before


def _table_bytes() -> int:
    # Tables that are made when they are first used are no part of the flow table.
    read_selector("topic = 'none of these'")
    _publications(_publisher(), BEGIN)
    tracemalloc.start()
    try:
        without = _memory_bytes(flows=False)
        return _memory_bytes(flows=True) - without
    finally:
        tracemalloc.stop()


def _time_ns(publisher: PublishingControl) -> Duration:
    """The quickest round of publications."""
    times = []
    for turn in range(1, ROUNDS + 1):
        begun = process_time_ns()
        _publications(publisher, BEGIN + turn * SECOND)
        times.append(process_time_ns() - begun)
    return max(1, min(times))


def measured(seed: int) -> Mapping[str, float]:
    """All quantities; the seed makes no difference."""
    table_bytes = _table_bytes()
    without_ns = _time_ns(_publisher())
    publisher = _publisher()
    _reports(publisher, BEGIN)
    begun = process_time_ns()
    _reports(publisher, BEGIN + SECOND // 2)
    report_ns = (process_time_ns() - begun) / FLOWS
    ratio = _time_ns(publisher) / without_ns
    return {MEMORY: table_bytes / 1e6, TIME: ratio, REPORT_TIME: report_ns / MICROSECOND}
