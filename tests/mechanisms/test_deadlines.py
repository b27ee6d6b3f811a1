"""Deadlines of many keys against a dictionary that is searched from end to end."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.core.clock import HOUR, MILLISECOND
from penstock.mechanisms.deadlines import SPARE_ENTRIES, Deadlines

moderate = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

instants = st.integers(0, 20)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.sampled_from("abcde"), st.none() | instants),
        st.tuples(st.just("pop"), st.just(""), instants),
    ),
    max_size=60,
)


class Model:
    """Each key's deadline with the number of the change that gave it, which settles ties."""

    def __init__(self) -> None:
        self.current: dict[str, tuple[int, int]] = {}
        self.changes = 0

    def set(self, key: str, deadline: int | None) -> None:
        self.changes += 1
        if deadline is None:
            self.current.pop(key, None)
        elif self.current.get(key, (None, 0))[0] != deadline:
            self.current[key] = (deadline, self.changes)

    def pop_due(self, now: int) -> list[str]:
        due = sorted((at, key) for key, at in self.current.items() if at[0] <= now)
        for _, key in due:
            del self.current[key]
        return [key for _, key in due]


@moderate
@given(steps)
def test_the_earliest_and_the_due_are_those_of_the_model(
    changes: list[tuple[str, str, int | None]],
) -> None:
    deadlines, model = Deadlines[str](), Model()
    for verb, key, at in changes:
        if verb == "set":
            deadlines.set(key, at)
            model.set(key, at)
        else:
            assert at is not None
            assert deadlines.pop_due(at) == model.pop_due(at)
        assert deadlines.earliest() == min((at for at, _ in model.current.values()), default=None)


def test_keys_that_are_due_together_come_in_the_order_in_which_they_were_set() -> None:
    deadlines = Deadlines[str]()
    for key in ("late", "b", "a"):
        deadlines.set(key, 9 if key == "late" else 5)
    assert deadlines.pop_due(5) == ["b", "a"]
    assert deadlines.pop_due(9) == ["late"]
    assert deadlines.earliest() is None


def test_a_deadline_is_due_at_its_instant_and_only_once() -> None:
    deadlines = Deadlines[str]()
    deadlines.set("a", 5)
    assert deadlines.pop_due(4) == []
    assert deadlines.pop_due(5) == ["a"]
    assert deadlines.pop_due(5) == []
    deadlines.set("a", 5)
    assert deadlines.pop_due(5) == ["a"]


def test_an_outdated_deadline_never_fires() -> None:
    deadlines = Deadlines[str]()
    deadlines.set("a", 5)
    deadlines.set("a", 8)
    assert deadlines.pop_due(7) == []
    deadlines.set("a", None)
    assert deadlines.earliest() is None
    assert deadlines.pop_due(99) == []


def test_keys_need_no_order_of_their_own() -> None:
    deadlines = Deadlines[object]()
    keys = [object(), object(), object()]
    for key in keys:
        deadlines.set(key, 5)
    assert deadlines.pop_due(5) == keys


def test_a_far_deadline_that_moves_with_every_message_does_not_pile_up() -> None:
    deadlines = Deadlines[int]()
    for message in range(20_000):
        deadlines.set(message % 10, message * MILLISECOND + HOUR)
        # There is no other way to see the bound than to look inside.
        assert len(deadlines._heap) <= 2 * 10 + SPARE_ENTRIES
    assert deadlines.earliest() == 19_990 * MILLISECOND + HOUR
