"""The sending end: numbers, receipts, the window, and what is repeated."""

from __future__ import annotations

from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.machine import Effect, Send
from penstock.services.multicast.groups.route import GroupRoute
from penstock.services.multicast.messages import (
    GroupSendReceipt,
    Multicast,
    Reception,
    SendToGroups,
)
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.streams.outbound import Outbound
from penstock.services.multicast.streams.stream import FIRST_PROBE_NS, Bought

from ..conftest import Known

NOW = 1_700_000_000 * SECOND
BATCH = Batch.from_rows([({}, b"x")])
RECEIVERS = {"b": 7, "c": 8}


class Incarnations:
    def __init__(self, **incarnations: int) -> None:
        self._incarnations = incarnations

    def incarnation(self, broker: str) -> int:
        return self._incarnations[broker]


def bought(number: int, size_bytes: int = 1000) -> Bought:
    request = SendToGroups("s", ("g",), number, BATCH)
    route = GroupRoute(tuple(RECEIVERS), ())
    return Bought(request, "client/1", size_bytes, route, 0.5, (11, 12), 13)


class Sender:
    """Broker a, whose streams end at b and c."""

    def __init__(self, topology: Known) -> None:
        self.outbound = Outbound("a", NOW, MulticastParameters(window_bytes=2000), topology)
        self.out: list[Effect] = []

    def send(self, number: int, receivers: dict[str, int] = RECEIVERS) -> Multicast | None:
        return self.outbound.transmit(bought(number), receivers, NOW, self.out)

    def confirm(
        self, receiver: str, position: int, *, seen: int | None = None, after: int = 0
    ) -> list[Multicast]:
        confirmation = Reception("a", NOW, receiver, position, seen or position, 0)
        return self.outbound.received(confirmation, NOW + after, self.out)

    @property
    def receipts(self) -> list[GroupSendReceipt]:
        messages = [each.message for each in self.out if isinstance(each, Send)]
        return [each for each in messages if isinstance(each, GroupSendReceipt)]


def test_a_message_is_numbered_for_each_receiver(line: Known) -> None:
    sender = Sender(line)
    sender.send(0, {"b": 7})
    message = sender.send(1)
    assert message is not None
    assert [(each.broker, each.position) for each in message.destinations] == [("b", 2), ("c", 1)]
    assert (message.paid, message.named, message.hops) == (0.5, (11, 12), 0)
    assert sender.outbound.unconfirmed_messages() == {"b": 2, "c": 1}


def test_the_receipt_comes_when_the_last_receiver_has_confirmed(line: Known) -> None:
    sender = Sender(line)
    sender.send(5)
    sender.confirm("b", 2)
    assert sender.receipts == []
    assert not sender.outbound.take_settled()
    sender.confirm("c", 2)
    assert sender.receipts == [GroupSendReceipt("s", 5, 1, 2, 13)]
    assert sender.outbound.take_settled()
    assert not sender.outbound.take_settled(), "it is asked once"
    sender.outbound.check_invariants()


def test_a_message_without_receivers_gets_its_receipt_at_once(line: Known) -> None:
    sender = Sender(line)
    assert sender.send(0, {}) is None
    assert [each.receivers for each in sender.receipts] == [0]


def test_the_window_is_full_until_something_is_confirmed(line: Known) -> None:
    sender = Sender(line)
    sender.send(0, {"b": 7})
    assert sender.outbound.has_room()
    sender.send(1, {"b": 7})
    assert not sender.outbound.has_room()
    sender.confirm("b", 2)
    assert sender.outbound.has_room()


def test_a_gap_is_filled_for_the_receiver_that_reports_it(line: Known) -> None:
    sender = Sender(line)
    for number in range(3):
        sender.send(number)
    (repeated,) = sender.confirm("c", 1, seen=2)
    assert [(each.broker, each.position) for each in repeated.destinations] == [("c", 1)]


def test_confirmations_of_another_incarnation_are_ignored(line: Known) -> None:
    sender = Sender(line)
    sender.send(0, {"b": 7})
    stale = Reception("a", NOW - 1, "b", 2, 2, 0)
    assert sender.outbound.received(stale, NOW, sender.out) == []
    assert sender.outbound.unconfirmed_messages() == {"b": 1}


def test_a_changed_path_repeats_what_was_under_way(line: Known) -> None:
    sender = Sender(line)
    sender.send(0)
    assert sender.outbound.routes_changed(NOW) == []
    line.graph = {"a": {"b": 1, "c": 1}, "b": {"a": 1}, "c": {"a": 1}}
    (repeated,) = sender.outbound.routes_changed(NOW)
    assert [each.broker for each in repeated.destinations] == ["c"]


def test_nothing_is_repeated_while_a_receiver_cannot_be_reached(line: Known) -> None:
    sender = Sender(line)
    sender.send(0)
    whole, line.graph = line.graph, {"a": {"b": 1}, "b": {"a": 1}, "c": {}}
    assert sender.outbound.routes_changed(NOW) == []
    repeated = sender.outbound.deadline(NOW + FIRST_PROBE_NS)
    assert [each.destinations[0].broker for each in repeated] == ["b"]
    line.graph = whole
    (again,) = sender.outbound.routes_changed(NOW)
    assert again.destinations[0].broker == "c"


def test_a_receiver_that_left_is_not_waited_for(line: Known) -> None:
    sender = Sender(line)
    sender.send(0)
    sender.confirm("b", 2)
    sender.outbound.departed("c", sender.out)
    assert len(sender.receipts) == 1


def test_a_restarted_receiver_gets_a_new_stream(line: Known) -> None:
    sender = Sender(line)
    sender.send(0)
    sender.outbound.forget_restarted(Incarnations(b=7, c=9), sender.out)
    assert sender.outbound.unconfirmed_messages() == {"b": 1}
    message = sender.send(1, {"b": 7, "c": 9})
    assert message is not None
    assert [(each.broker, each.position) for each in message.destinations] == [("b", 2), ("c", 1)]


def test_the_round_trip_is_the_longest_of_the_receivers(line: Known) -> None:
    sender = Sender(line)
    sender.send(0)
    assert sender.outbound.round_trip_ns(["b", "c"]) == 0
    sender.confirm("b", 2, after=10 * MILLISECOND)
    sender.confirm("c", 2, after=30 * MILLISECOND)
    assert sender.outbound.round_trip_ns(["b", "c"]) == 30 * MILLISECOND
    assert sender.outbound.round_trip_ns(["b", "unknown"]) == 10 * MILLISECOND
