"""A publication is delivered at most once, whatever paths it takes."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.services.datagram.messages import Publication
from penstock.services.datagram.subscriber.repeats import MAX_STREAMS, REMEMBERED, Repeats


def publication(number: int, *, source: str = "p@b", incarnation: int = 1) -> Publication:
    return Publication(source, incarnation, number, 0, 1.0, b"", (), {}, b"")


def test_a_number_is_new_once() -> None:
    repeats = Repeats()
    assert [repeats.is_new(publication(each)) for each in (0, 1, 1, 3, 2, 3, 0)] == [
        True, True, False, True, True, False, False,
    ]  # fmt: skip


def test_publishers_and_incarnations_are_numbered_by_themselves() -> None:
    repeats = Repeats()
    assert repeats.is_new(publication(5))
    assert repeats.is_new(publication(5, source="q@b"))
    assert repeats.is_new(publication(5, incarnation=2))
    assert not repeats.is_new(publication(5))


def test_what_is_too_late_to_be_known_is_not_delivered() -> None:
    repeats = Repeats()
    assert repeats.is_new(publication(REMEMBERED + 7))
    assert not repeats.is_new(publication(7))
    assert repeats.is_new(publication(8)), "nothing later has its place"


def test_the_number_of_remembered_streams_is_bounded() -> None:
    repeats = Repeats()
    for number in range(MAX_STREAMS + 1):
        assert repeats.is_new(publication(1, source=f"p{number}@b"))
    assert repeats.is_new(publication(1, source="p0@b")), "the first one was forgotten"
    assert not repeats.is_new(publication(1, source=f"p{MAX_STREAMS}@b"))


@given(st.lists(st.integers(0, 5 * REMEMBERED)))
def test_nothing_is_new_twice(numbers: list[int]) -> None:
    repeats = Repeats()
    delivered = [each for each in numbers if repeats.is_new(publication(each))]
    assert len(set(delivered)) == len(delivered)
