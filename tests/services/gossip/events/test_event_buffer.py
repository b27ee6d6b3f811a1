"""Age-based purge against a plain list that is sorted every time."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.services.gossip.events.event_buffer import HEAP_FACTOR, HEAP_SLACK, EventBuffer
from penstock.services.gossip.messages import Event, event_id

NO_MINIMUM = 1_000_000


def test_the_oldest_goes_first(make_event: Callable[..., Event]) -> None:
    buffer = EventBuffer(2)
    for sequence, age in ((1, 3), (2, 5), (3, 1)):
        buffer.insert(make_event(sequence), age)
    assert buffer.purge(NO_MINIMUM) == ([5], [5])
    assert list(buffer.events) == [event_id(7, 1), event_id(7, 3)]
    assert buffer.held()[1] == bytes([3, 1])


def test_among_equals_the_first_inserted_goes_even_if_its_age_was_raised_later(
    make_event: Callable[..., Event],
) -> None:
    buffer = EventBuffer(1)
    buffer.insert(make_event(1), 0)
    buffer.insert(make_event(2), 4)
    buffer.raise_age(event_id(7, 1), 4)
    buffer.purge(NO_MINIMUM)
    assert list(buffer.events) == [event_id(7, 2)]


def test_events_grow_older_until_the_age_limit(make_event: Callable[..., Event]) -> None:
    buffer = EventBuffer(9)
    buffer.insert(make_event(1), 0)
    for _ in range(3):
        buffer.grow_older(3)
    assert buffer.age(event_id(7, 1)) == 3
    buffer.grow_older(3)
    assert len(buffer) == 0


def test_would_be_drops_are_accounted_once_and_stay(make_event: Callable[..., Event]) -> None:
    """Figure 5 (b): the whole buffer is used, the average is that of the smallest."""
    buffer = EventBuffer(4)
    for sequence, age in ((1, 6), (2, 2), (3, 4)):
        buffer.insert(make_event(sequence), age)
    assert buffer.purge(1) == ([6, 4], [])
    assert buffer.purge(1) == ([], [])
    buffer.insert(make_event(4), 0)
    assert buffer.purge(1) == ([2], [])
    assert len(buffer) == 4


def test_when_the_minimum_is_ones_own_both_purges_are_the_same(
    make_event: Callable[..., Event],
) -> None:
    buffer = EventBuffer(1)
    buffer.insert(make_event(1), 2)
    buffer.insert(make_event(2), 9)
    assert buffer.purge(1) == ([9], [9])


class PlainBuffer:
    """Figure 1 and Figure 5 (b), as slowly as they read."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.held: list[list[int]] = []  # [age, order of insertion, identifier]
        self.lost: set[int] = set()
        self.inserted = 0

    def insert(self, identifier: int, age: int) -> None:
        self.inserted += 1
        self.held.append([age, self.inserted, identifier])

    def raise_age(self, identifier: int, age: int) -> None:
        for each in self.held:
            if each[2] == identifier:
                each[0] = age

    def grow_older(self, limit: int) -> None:
        for each in self.held:
            each[0] += 1
        self.held = [each for each in self.held if each[0] <= limit]
        self.lost &= {each[2] for each in self.held}

    def purge(self, minimum: int) -> tuple[list[int], list[int]]:
        accounted, dropped = [], []
        oldest_first = sorted(self.held, key=lambda each: (-each[0], each[1]))
        for each in oldest_first:
            if len(self.held) - len(self.lost) > minimum and each[2] not in self.lost:
                self.lost.add(each[2])
                accounted.append(each[0])
        while len(self.held) > self.capacity:
            victim = oldest_first.pop(0)
            self.held.remove(victim)
            self.lost.discard(victim[2])
            dropped.append(victim[0])
        return accounted, dropped


actions = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.integers(0, 12)),
        st.tuples(st.just("raise"), st.integers(0, 40), st.integers(1, 5)),
        st.tuples(st.just("older")),
        st.tuples(st.just("purge"), st.integers(1, 6)),
        st.tuples(st.just("resize"), st.integers(1, 8)),
    ),
    max_size=80,
)


@settings(max_examples=150, deadline=None)
@given(actions)
def test_the_buffer_does_what_the_paper_says(script: list[tuple[object, ...]]) -> None:
    buffer, plain = EventBuffer(5), PlainBuffer(5)
    sequence = 0
    for name, *values in script:
        numbers = [value for value in values if isinstance(value, int)]
        if name == "insert":
            sequence += 1
            buffer.insert(Event(event_id(1, sequence), b""), numbers[0])
            plain.insert(sequence, numbers[0])
        elif name == "raise" and event_id(1, numbers[0]) in buffer.events:
            older = buffer.age(event_id(1, numbers[0])) + numbers[1]
            buffer.raise_age(event_id(1, numbers[0]), older)
            plain.raise_age(numbers[0], older)
        elif name == "older":
            buffer.grow_older(15)
            plain.grow_older(15)
        elif name == "resize":
            buffer.capacity = plain.capacity = numbers[0]
        elif name == "purge":
            # A peer is never richer than the poorest it knows of, itself included.
            minimum = min(numbers[0], buffer.capacity)
            assert buffer.purge(minimum) == plain.purge(minimum)
        buffer.check_invariants()
        assert [event_id(1, each[2]) for each in plain.held] == list(buffer.events)
        assert bytes(each[0] for each in plain.held) == buffer.held()[1]


def test_outdated_ranks_are_swept(make_event: Callable[..., Event]) -> None:
    buffer = EventBuffer(3)
    buffer.insert(make_event(1), 0)
    for age in range(1, 200):
        buffer.raise_age(event_id(7, 1), age)
    buffer.grow_older(255)
    assert len(buffer._by_age) <= HEAP_FACTOR + HEAP_SLACK
    assert buffer.age(event_id(7, 1)) == 200
