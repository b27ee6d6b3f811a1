"""The configuration of queues and alias queues."""

from __future__ import annotations

import pytest

from penstock.services.queues.parameters import (
    DEAD_LETTERS,
    AliasConfig,
    QueueConfig,
    QueueParameters,
    check_configuration,
    split_address,
    with_dead_letters,
)


def test_an_address_is_a_queue_and_a_broker():
    assert split_address("work@east") == ("work", "east")
    for wrong in ("work", "@east", "work@"):
        with pytest.raises(ValueError, match="not of the form queue@broker"):
            split_address(wrong)


@pytest.mark.parametrize(
    ("queues", "aliases", "problem"),
    [
        ((QueueConfig("a"),), (AliasConfig("a", ("b@c",)),), "share this name"),
        ((QueueConfig("a", dead_letter_queue="x"),), (), "is not a queue of the same broker"),
        ((), (AliasConfig("a", ()),), "has no destinations"),
        ((), (AliasConfig("a", ("b",)),), "not of the form"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(queues, aliases, problem):
    with pytest.raises(ValueError, match=problem):
        check_configuration(queues, aliases)


def test_a_broker_with_queues_has_a_dead_letter_queue():
    assert with_dead_letters(()) == ()
    queues = with_dead_letters((QueueConfig("a"),))
    assert [each.name for each in queues] == ["a", DEAD_LETTERS]
    assert with_dead_letters(queues) == queues


def test_two_delays_take_less_than_a_repetition():
    parameters = QueueParameters()
    assert 2 * parameters.piggyback_ns < parameters.repeat_ns
