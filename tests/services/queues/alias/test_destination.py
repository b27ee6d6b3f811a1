"""One destination: whether it can take rows, and the rows that it has."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.services.queues.alias.destination import AliasDestination
from penstock.services.queues.parameters import QueueParameters

NOW = 1000 * SECOND
PARAMETERS = QueueParameters()


@pytest.fixture
def east():
    destination = AliasDestination("work@east")
    destination.reachable, destination.consumers = True, 1
    return destination


def test_rows_in_flight_are_taken_back_once(east):
    east.sent(1, 6, 500, NOW)
    east.sent(8, 9, 100, NOW)
    assert east.take_back(4, 20) == [(4, 6), (8, 9)]
    assert east.in_flight_bytes == 600, "the caller subtracts what parts weigh"
    assert east.take_back_all() == [(1, 4)]
    assert east.in_flight_bytes == 0
    assert east.take_back_all() == []


def test_the_first_row_of_a_run_measures_the_distance(east):
    east.sent(1, 6, 500, NOW)
    east.sent(6, 9, 500, NOW + 5)
    east.has_stored(6, 9, NOW + 6)
    assert not east.is_within(SECOND)
    east.has_stored(1, 3, NOW + 7)
    assert east.is_within(7)
    assert not east.is_within(6)


def test_it_is_late_when_it_confirms_nothing(east):
    east.sent(1, 6, 500, NOW)
    assert not east.is_late(NOW + 9, 10)
    assert east.is_late(NOW + 10, 10)
    east.has_stored(1, 2, NOW + 10)
    assert not east.is_late(NOW + 10, 10)
    assert east.next_deadline(PARAMETERS, 0) == NOW + 10 + PARAMETERS.forward_timeout_ns


def test_a_decision_goes_from_deciding_to_decided_to_done(east):
    east.deciding.add(1, 4)
    assert (east.unsettled_rows, east.is_done) == (3, False)
    east.decision_durable(1, 4)
    east.schedule_repeat(NOW, 7)
    assert (east.unsettled_rows, list(east.decided), east.repeat_at) == (0, [(1, 4)], NOW + 7)
    east.confirm(1, 4)
    east.schedule_repeat(NOW, 7)
    assert (east.is_done, east.repeat_at) == (True, None)


def test_a_lost_destination_must_report_before_it_takes_rows(east):
    east.sent(1, 6, 500, NOW)
    assert east.lost() == [(1, 6)]
    assert not east.can_take(NOW, alone=True)
    east.reachable = True
    assert not east.can_take(NOW, alone=False)
    assert east.can_take(NOW, alone=True)


def test_every_reason_to_get_nothing_has_a_sentence(east):
    assert east.why_not(NOW, alone=False) == ""
    east.consumers = 0
    assert east.why_not(NOW, alone=False) == "has no consumers"
    assert east.why_not(NOW, alone=True) == ""
    east.consumers = None
    assert east.why_not(NOW, alone=False) == "has not reported yet"
    east.pause("the disk is full", NOW + 1)
    assert east.why_not(NOW, alone=True) == "refused: the disk is full"
    assert not east.can_take(NOW, alone=True)
    assert east.why_not(NOW + 1, alone=True) == "the disk is full"
    east.reachable = False
    assert east.why_not(NOW, alone=True) == "broker 'east' cannot be reached"
    east.retired = True
    assert east.why_not(NOW, alone=True) == "retired"


def test_it_is_probed_while_it_gets_nothing(east):
    east.probed_at = NOW
    assert east.probe_at(PARAMETERS, 5) is None
    east.consumers = 0
    assert east.probe_at(PARAMETERS, 0) is None
    assert east.probe_at(PARAMETERS, 5) == NOW + PARAMETERS.forward_timeout_ns
    east.consumers = None
    assert east.probe_at(PARAMETERS, 0) == NOW + PARAMETERS.repeat_ns
    east.paused_until = NOW + 3
    assert east.probe_at(PARAMETERS, 0) == NOW + 3
    east.reachable = False
    assert east.probe_at(PARAMETERS, 5) is None
