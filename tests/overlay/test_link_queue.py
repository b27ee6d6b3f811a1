from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.machine import Priority
from penstock.overlay.link_queue import LinkQueue

CONTROL, DATA = Priority.CONTROL, Priority.DATA


def drain(queue: LinkQueue[str]) -> list[str]:
    return [queue.take()[0] for _ in range(len(queue))]


def test_control_goes_before_data_and_each_keeps_its_order() -> None:
    queue: LinkQueue[str] = LinkQueue()
    for name, priority in (("d1", DATA), ("c1", CONTROL), ("d2", DATA), ("c2", CONTROL)):
        assert queue.offer(name, 10, priority)

    assert queue.next_priority() is CONTROL
    assert drain(queue) == ["c1", "c2", "d1", "d2"]
    assert queue.next_priority() is None


def test_data_that_does_not_fit_is_dropped_newest_first() -> None:
    queue: LinkQueue[str] = LinkQueue(data_limit_bytes=100)

    taken = [queue.offer(name, 40, DATA) for name in ("a", "b", "c")]

    assert taken == [True, True, False]
    assert drain(queue) == ["a", "b"]
    assert queue.statistics().dropped_messages == 1
    assert queue.statistics().dropped_bytes == 40


def test_the_two_bounds_are_apart() -> None:
    queue: LinkQueue[str] = LinkQueue(data_limit_bytes=50, control_limit_bytes=50)

    assert queue.offer("d1", 50, DATA)
    assert queue.offer("c1", 50, CONTROL)
    assert not queue.offer("d2", 1, DATA)
    assert not queue.offer("c2", 1, CONTROL)


@pytest.mark.parametrize("priority", [CONTROL, DATA])
def test_into_an_empty_queue_a_message_of_any_size_fits(priority: Priority) -> None:
    queue: LinkQueue[str] = LinkQueue(data_limit_bytes=10, control_limit_bytes=10)

    assert queue.offer("huge", 1_000_000, priority)
    assert not queue.offer("small", 1, priority)


def test_what_waited_when_the_link_went_down_is_gone_but_not_dropped() -> None:
    queue: LinkQueue[str] = LinkQueue(fair=True)
    queue.offer("c", 5, CONTROL)
    queue.offer("d", 10, DATA, "p")

    assert queue.flush() == 2

    counts = queue.statistics()
    assert (counts.queued_bytes, counts.queued_messages) == (0, 0)
    assert (counts.flushed_messages, counts.dropped_messages) == (2, 0)
    assert counts.high_water_bytes == 15
    assert queue.offer("later", 1, DATA, "q")
    assert drain(queue) == ["later"]


def test_the_most_that_waited_begins_again_with_what_waits_now() -> None:
    queue: LinkQueue[str] = LinkQueue()
    queue.offer("first", 10, DATA)
    queue.offer("second", 20, CONTROL)
    queue.take()

    assert queue.take_most_queued_bytes() == 30
    assert queue.take_most_queued_bytes() == 10
    queue.take()
    assert queue.take_most_queued_bytes() == 10
    assert queue.take_most_queued_bytes() == 0
    assert queue.statistics().high_water_bytes == 30


def test_an_empty_queue_gives_nothing() -> None:
    with pytest.raises(IndexError):
        LinkQueue[str]().take()


def test_flows_take_turns() -> None:
    queue: LinkQueue[str] = LinkQueue(fair=True)
    for number in range(100):
        queue.offer(f"greedy{number}", 1500, DATA, "greedy")
    for number in range(3):
        queue.offer(f"modest{number}", 1500, DATA, "modest")

    first = drain(queue)[:6]

    assert sorted(first) == ["greedy0", "greedy1", "greedy2", "modest0", "modest1", "modest2"]


@pytest.mark.parametrize(("small", "large"), [(366, 4000), (100, 1_000_000), (1500, 1501)])
def test_flows_share_by_bytes_whatever_the_size_of_their_messages(small: int, large: int) -> None:
    queue: LinkQueue[str] = LinkQueue(data_limit_bytes=1 << 40, fair=True)
    given = {"small": 0, "large": 0}
    waiting = {"small": 0, "large": 0}
    while sum(given.values()) < 200 * large:
        for flow, size in (("small", small), ("large", large)):
            if not waiting[flow]:
                queue.offer(flow, size, DATA, flow)
                waiting[flow] += 1
        flow, size = queue.take()
        waiting[flow] -= 1
        given[flow] += size

    assert abs(given["small"] - given["large"]) <= small + large


def test_a_flow_that_had_nothing_to_send_gains_nothing_from_it() -> None:
    queue: LinkQueue[str] = LinkQueue(fair=True)
    for _ in range(50):
        queue.offer("steady", 100, DATA, "steady")
    for _ in range(20):
        queue.take()
    for _ in range(20):
        queue.offer("late", 100, DATA, "late")

    first = drain(queue)[:20]

    assert first.count("late") == 10


def test_flows_that_are_gone_are_forgotten() -> None:
    queue: LinkQueue[str] = LinkQueue(fair=True)
    for number in range(10_000):
        queue.offer("steady", 100, DATA, "steady")
        queue.offer("once", 100, DATA, f"flow{number}")
        queue.take()
        queue.take()
        queue.offer("steady", 100, DATA, "steady")

    assert len(queue._finished) <= 200


def test_a_queue_that_is_not_fair_knows_no_flows() -> None:
    queue: LinkQueue[str] = LinkQueue()
    queue.offer("a", 1, DATA, "p")
    queue.offer("b", 1, DATA, "q")
    queue.offer("c", 1, DATA, "p")

    assert drain(queue) == ["a", "b", "c"]


offers = st.lists(
    st.tuples(
        st.integers(0, 4000),
        st.sampled_from([CONTROL, DATA]),
        st.sampled_from(["p", "q", "r"]),
        st.booleans(),
    ),
    max_size=60,
)


@settings(deadline=None)
@given(offers=offers, fair=st.booleans())
def test_whatever_happens_the_counts_add_up_and_flows_keep_their_order(
    offers: list[tuple[int, Priority, str, bool]], fair: bool
) -> None:
    queue: LinkQueue[tuple[Priority, str, int]] = LinkQueue(
        data_limit_bytes=10_000, control_limit_bytes=8_000, fair=fair
    )
    taken: list[tuple[Priority, str, int]] = []
    accepted = 0
    for number, (size, priority, flow, take_one) in enumerate(offers):
        accepted += queue.offer((priority, flow, number), size, priority, flow)
        if take_one and len(queue):
            expected = queue.next_priority()
            item, _ = queue.take()
            assert item[0] is expected
            taken.append(item)
        counts = queue.statistics()
        assert counts.queued_messages == len(queue)
        assert counts.queued_messages + counts.sent_messages == accepted
        assert counts.dropped_messages == number + 1 - accepted
        assert counts.high_water_bytes >= counts.queued_bytes
    while len(queue):
        taken.append(queue.take()[0])

    assert queue.queued_bytes == 0
    assert len(taken) == accepted
    for flow in ("p", "q", "r"):
        for priority in (CONTROL, DATA):
            numbers = [n for each, name, n in taken if each is priority and name == flow]
            assert numbers == sorted(numbers)


def test_turns_are_counted_in_bytes() -> None:
    """A flow of small messages sends as many bytes as one of large messages, not as many pieces."""
    queue: LinkQueue[str] = LinkQueue(fair=True)
    for number in range(150):
        queue.offer(f"small{number}", 1500 // 15, DATA, "small")
    for number in range(10):
        queue.offer(f"large{number}", 1500, DATA, "large")

    first = [queue.take() for _ in range(16 * 4)]
    small = sum(size for name, size in first if name.startswith("small"))
    large = sum(size for name, size in first if name.startswith("large"))

    assert abs(small - large) <= 1500
