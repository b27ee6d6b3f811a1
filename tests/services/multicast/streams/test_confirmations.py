"""Confirmations wait and are joined on full links, within a share of what messages take."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from penstock.content.codec.size import encoded_size
from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.multicast.messages import MulticastReceived, Reception
from penstock.services.multicast.streams.confirmations import (
    CONFIRM_NS,
    LONGEST_HOLD_NS,
    MOST_WAITING,
    SHARE,
    Confirmations,
)

NOW = 1_700_000_000 * SECOND


def reception(position: int, receiver: str = "c", held_ns: int = 5) -> Reception:
    return Reception("a", NOW, receiver, position, position, held_ns)


def test_on_a_free_link_a_confirmation_goes_at_once() -> None:
    confirmations = Confirmations()
    frame = confirmations.offer("a", reception(2), NOW, link_is_free=True)
    assert frame == MulticastReceived((reception(2),))
    assert confirmations.next_deadline() is None


def test_on_a_full_link_the_latest_of_each_stream_goes_in_one_frame() -> None:
    confirmations = Confirmations()
    for step, each in enumerate([reception(2), reception(2, "d"), reception(3)]):
        assert confirmations.offer("a", each, NOW + step, link_is_free=False) is None
    due = confirmations.next_deadline()
    assert due == NOW + LONGEST_HOLD_NS
    ((link, frame),) = confirmations.overdue(due)
    assert link == "a"
    assert {(each.receiver, each.position) for each in frame.receptions} == {("c", 3), ("d", 2)}
    (latest,) = (each for each in frame.receptions if each.receiver == "c")
    assert latest.held_ns == 5 + LONGEST_HOLD_NS - 2, "the time that it waited is told"
    assert confirmations.next_deadline() is None


def test_a_gap_is_reported_at_once() -> None:
    confirmations = Confirmations()
    gap = msgspec.structs.replace(reception(2), seen=4)
    assert confirmations.offer("a", gap, NOW, link_is_free=False) == MulticastReceived((gap,))


def test_what_waits_is_bounded() -> None:
    confirmations = Confirmations()
    for number in range(MOST_WAITING - 1):
        waiting = reception(2, f"r{number}")
        assert confirmations.offer("a", waiting, NOW, link_is_free=False) is None
    frame = confirmations.offer("a", reception(2), NOW, link_is_free=False)
    assert frame is not None
    assert len(frame.receptions) == MOST_WAITING


@pytest.mark.parametrize("streams", [1, 8])
@pytest.mark.parametrize("message_bytes", [1000, 20_000])
def test_confirmations_take_a_share_of_the_link(streams: int, message_bytes: int) -> None:
    """Twenty messages a second on the link, and confirmations twice as often as they may go."""
    confirmations = Confirmations()
    frames: list[tuple[int, MulticastReceived]] = []
    seconds = 60
    for tick in range(40 * seconds):
        now = NOW + tick * 25 * MILLISECOND
        found = [frame for _, frame in confirmations.overdue(now)]
        for number in range(streams):
            each = reception(tick, f"r{number}")
            found.append(confirmations.offer("a", each, now, link_is_free=False))
        if tick % 2:
            found.append(confirmations.message_sent("a", message_bytes, now))
        frames += [(now, frame) for frame in found if frame is not None]
    taken = sum(encoded_size(frame) for _, frame in frames)
    at_least = max(encoded_size(frame) for _, frame in frames) * SECOND / LONGEST_HOLD_NS * seconds
    assert taken <= 1.05 * (SHARE * message_bytes * 20 * seconds + at_least)
    gaps = [after - before for (before, _), (after, _) in pairwise(frames)]
    assert min(gaps) >= CONFIRM_NS
    assert max(gaps) <= LONGEST_HOLD_NS + 25 * MILLISECOND


def test_a_link_that_went_down_has_nothing_waiting() -> None:
    confirmations = Confirmations()
    confirmations.offer("a", reception(2), NOW, link_is_free=False)
    confirmations.link_down("a")
    assert confirmations.next_deadline() is None
    assert confirmations.overdue(NOW + SECOND) == []
