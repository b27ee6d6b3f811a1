"""One publisher for a name at a time."""

from __future__ import annotations

from penstock.core.instances import Instances


def test_a_publisher_that_is_made_later_takes_the_name_over() -> None:
    instances = Instances(10, {})
    assert instances.take("orders", 1, resumes=False)
    assert instances.take("orders", 2, resumes=False)

    assert not instances.take("orders", 1, resumes=True)
    assert not instances.has("orders", 1)
    assert instances.has("orders", 2)
    assert instances.of("orders") == 2


def test_a_publisher_that_comes_back_keeps_its_name() -> None:
    instances = Instances(10, {})
    instances.take("orders", 1, resumes=False)

    assert instances.take("orders", 1, resumes=True)


def test_a_name_that_nobody_is_known_to_have_is_free() -> None:
    instances = Instances(10, {})

    assert instances.has("orders", 5)
    assert instances.of("orders") == 0
    assert instances.take("orders", 5, resumes=True)


def test_names_of_which_numbers_are_stored_are_not_forgotten() -> None:
    """Otherwise a publisher that was replaced could come back to numbers that are not its own."""
    stored = {"kept": None}
    instances = Instances(2, stored)
    instances.note("kept", 1)
    for number in range(100):
        instances.note(f"passing {number}", number + 10)

    assert len(instances.dump()) == 3
    assert instances.of("kept") == 1
    assert instances.of("passing 99") == 109


def test_the_table_can_be_saved_and_read() -> None:
    instances = Instances(10, {})
    instances.note("orders", 3)
    again = Instances(10, {})
    again.load(instances.dump())

    assert again.of("orders") == 3
