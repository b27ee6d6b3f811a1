"""What one link takes of one pubend, measured twenty times a second."""

from __future__ import annotations

from itertools import pairwise

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.guaranteed.laws.link_backlog import (
    BURST_BYTES,
    FIRST_BYTES,
    GROWTH,
    STALLED_NS,
    STANDS_NS,
    TARGET_NS,
    LinkBacklog,
)

STEP = 50 * MILLISECOND


class Link:
    """A link of a capacity; whatever is put on it waits for its turn."""

    def __init__(self, bytes_per_s: int) -> None:
        self.backlog = LinkBacklog(0)
        self.now = 0
        self.waiting = 0
        self.taken = 0
        self._bytes_per_s = bytes_per_s

    def put(self, count_bytes: int) -> None:
        self.backlog.sent(count_bytes)
        self.waiting += count_bytes

    def step(self) -> None:
        self.now += STEP
        taken = min(self.waiting, self._bytes_per_s * STEP // SECOND)
        self.waiting -= taken
        self.taken += taken
        self.backlog.measured(self.waiting, self.now)

    def fill(self, steps: int, message_bytes: int = 1000) -> None:
        """Put on it what may be published, for so many measurements."""
        for _ in range(steps):
            while not self.backlog.is_full(0, self.now):
                self.put(message_bytes)
            self.step()


def test_at_first_a_burst_may_be_sent() -> None:
    link = Link(1 << 30)
    while not link.backlog.is_full(0, 0):
        link.put(1000)
    assert FIRST_BYTES <= link.waiting < FIRST_BYTES + 1000


def test_what_is_on_its_way_to_the_disk_counts() -> None:
    backlog = LinkBacklog(0)
    assert backlog.is_full(FIRST_BYTES, 0)
    assert not backlog.is_full(FIRST_BYTES - 1, 0)


def test_on_a_link_without_a_queue_the_burst_grows_with_what_it_took() -> None:
    link = Link(1 << 30)
    taken = []
    for _ in range(6):
        before = link.taken
        link.fill(1)
        taken.append(link.taken - before)
    assert all(later >= GROWTH * earlier for earlier, later in pairwise(taken))


@pytest.mark.parametrize("bytes_per_s", [10_000, 100_000, 3_000_000])
@pytest.mark.parametrize("message_bytes", [100, 1000])
def test_a_thin_link_is_kept_busy_with_a_short_queue(bytes_per_s: int, message_bytes: int) -> None:
    link = Link(bytes_per_s)
    link.fill(200, message_bytes)
    before, began = link.taken, link.now
    link.fill(200, message_bytes)

    assert (link.taken - before) * SECOND / (link.now - began) >= 0.97 * bytes_per_s
    target = bytes_per_s * TARGET_NS // SECOND
    assert link.waiting <= 1.1 * target + message_bytes
    assert link.backlog.rate_bytes_per_s == pytest.approx(bytes_per_s, rel=0.05)


def test_a_queue_stands_when_it_is_long_or_old() -> None:
    backlog = LinkBacklog(0)
    backlog.measured(100, STEP)
    assert not backlog.stands(STEP)
    backlog.measured(100, STANDS_NS)
    assert backlog.stands(STANDS_NS)
    backlog.measured(0, STANDS_NS + STEP)
    backlog.measured(BURST_BYTES, STANDS_NS + 2 * STEP)
    assert backlog.stands(STANDS_NS + 2 * STEP)


def test_a_link_that_takes_nothing_holds_nobody_up() -> None:
    link = Link(0)
    link.put(2 * FIRST_BYTES)
    link.step()
    assert link.backlog.is_full(0, link.now)
    while link.now < STALLED_NS:
        link.step()
    link.step()
    assert link.backlog.is_stalled(link.now)
    assert not link.backlog.is_full(0, link.now)


def test_the_rate_is_not_known_before_the_link_took_something_twice() -> None:
    link = Link(100_000)
    link.put(50_000)
    link.step()
    assert link.backlog.rate_bytes_per_s == 0.0
