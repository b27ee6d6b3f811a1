"""Messages and confirmations take the right link, or are handled here."""

from __future__ import annotations

from random import Random

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND
from penstock.core.machine import Effect, LinkName, Send
from penstock.core.message import Message
from penstock.services.multicast.groups.groups import GroupDirectory
from penstock.services.multicast.groups.members import Members
from penstock.services.multicast.groups.route import MAX_HOPS, GroupRoute, link_number
from penstock.services.multicast.laws.choice import chosen_law
from penstock.services.multicast.messages import (
    Destination,
    GroupDelivery,
    GroupSendReceipt,
    Multicast,
    MulticastReceived,
    PriceRecord,
    Reception,
    SendToGroups,
)
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.prices.exchange import PriceExchange
from penstock.services.multicast.prices.names import price_name
from penstock.services.multicast.streams.exchange import StreamExchange
from penstock.services.multicast.streams.stream import FIRST_PROBE_NS, Bought

from ..conftest import Known

NOW = 1_700_000_000 * SECOND
STAMP = NOW & 0xFFFF_FFFF
BATCH = Batch.from_rows([({}, bytes(100))])


class Broker:
    """Broker b of a - b - c, with member m of group g."""

    def __init__(self, topology: Known, window_bytes: int = 1 << 20) -> None:
        parameters = MulticastParameters()
        self.members = Members(parameters)
        self.members.join("m", "client/1", "g", window_bytes)
        groups = GroupDirectory("b", NOW, parameters, self.members, topology)
        law = chosen_law(parameters, Random(1))
        self.prices = PriceExchange("b", parameters, law, topology, groups, {})
        self.streams = StreamExchange("b", NOW, parameters, topology, self.members, self.prices)
        self.out: list[Effect] = []
        self.streams.routes_changed({"a": "a", "c": "c"}, NOW, self.out)

    def transmit(self, number: int, receivers: dict[str, int]) -> None:
        request = SendToGroups("s", ("g",), number, BATCH)
        route = GroupRoute(tuple(receivers), ())
        bought = Bought(request, "client/2", 1000, route, 0.0, (), 0)
        self.streams.transmit(bought, receivers, NOW, self.out)

    def told(self) -> list[tuple[LinkName, Message]]:
        told = [(each.link, each.message) for each in self.out if isinstance(each, Send)]
        self.out.clear()
        return told


@pytest.fixture
def broker(line: Known) -> Broker:
    return Broker(line)


def from_a(*destinations: Destination, hops: int = 1, named: tuple[int, ...] = ()) -> Multicast:
    return Multicast("a", 1, "s", 5, ("g",), destinations, 0.0, named, hops, BATCH)


def test_a_message_is_delivered_here_and_passed_on_without_this_broker(broker: Broker) -> None:
    here, there = Destination("b", STAMP, 1, 1), Destination("c", 9, 1, 1)
    broker.streams.arrived("a", from_a(here, there), NOW, broker.out)
    delivered, confirmed, passed_on = broker.told()
    assert isinstance(delivered[1], GroupDelivery)
    assert confirmed == ("a", MulticastReceived((Reception("a", 1, "b", 2, 2, 0),)))
    assert passed_on[0] == "c"
    assert isinstance(passed_on[1], Multicast)
    assert (passed_on[1].destinations, passed_on[1].hops) == ((there,), 2)


def test_a_message_keeps_only_the_names_that_brokers_ahead_can_use(broker: Broker) -> None:
    own, ahead = (
        price_name(PriceRecord(link_number(*ends), 4, 0.5)) for ends in (("b", "c"), ("c", "d"))
    )
    broker.prices.link_up("c", NOW, broker.out)
    message = from_a(Destination("c", 9, 1, 1), named=(own, ahead))
    broker.streams.arrived("a", message, NOW, broker.out)
    ((_, passed_on),) = broker.told()
    assert isinstance(passed_on, Multicast)
    assert passed_on.named == (ahead,)


def test_a_message_that_has_made_too_many_hops_is_dropped(broker: Broker) -> None:
    broker.streams.arrived("a", from_a(Destination("c", 9, 1, 1), hops=MAX_HOPS), NOW, broker.out)
    assert broker.told() == []


def test_a_message_for_this_brokers_own_members_is_receipted_at_once(broker: Broker) -> None:
    broker.transmit(0, {"b": NOW})
    delivered, receipt = broker.told()
    assert isinstance(delivered[1], GroupDelivery)
    assert receipt == ("client/2", GroupSendReceipt("s", 0, 1, 1, 0))
    broker.streams.check_invariants()


def test_a_confirmation_for_another_origin_is_passed_on(broker: Broker) -> None:
    confirmation = Reception("a", 1, "c", 2, 2, 0)
    broker.streams.confirm(confirmation, NOW, broker.out)
    assert broker.told() == [("a", MulticastReceived((confirmation,)))]
    unreachable = Reception("x", 1, "c", 2, 2, 0)
    broker.streams.confirm(unreachable, NOW, broker.out)
    assert broker.told() == []


def test_a_reported_gap_is_repeated_on_the_way_to_its_receiver(broker: Broker) -> None:
    for number in range(2):
        broker.transmit(number, {"c": 9})
    broker.told()
    broker.streams.confirm(Reception("b", NOW, "c", 1, 3, 0), NOW, broker.out)
    repeated = broker.told()
    assert [link for link, _ in repeated] == ["c", "c"]
    sequences = [each.first_sequence for _, each in repeated if isinstance(each, Multicast)]
    assert sequences == [0, 1]


def test_streams_continue_when_a_member_has_room(line: Known) -> None:
    broker = Broker(line, window_bytes=1)
    for number in range(3):
        broker.transmit(number, {"b": NOW})
    kinds = [type(message) for _, message in broker.told()]
    assert kinds.count(GroupSendReceipt) == 1
    for _ in range(2):
        broker.members.taken("m", "client/1", 1 << 20)
        broker.streams.room_made(NOW, broker.out)
        assert [type(each) for _, each in broker.told()] == [GroupDelivery, GroupSendReceipt]


def test_a_stream_without_confirmations_is_probed(broker: Broker) -> None:
    broker.transmit(0, {"c": 9})
    broker.told()
    due = broker.streams.next_deadline()
    assert due == NOW + FIRST_PROBE_NS
    broker.streams.deadline(due, broker.out)
    assert [link for link, _ in broker.told()] == ["c"]
