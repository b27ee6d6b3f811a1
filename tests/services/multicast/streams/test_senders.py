"""Messages wait until they are paid for, in order, and within bounds."""

from __future__ import annotations

from random import Random

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND
from penstock.services.multicast.groups.groups import GroupDirectory
from penstock.services.multicast.groups.members import Members
from penstock.services.multicast.groups.route import link_number
from penstock.services.multicast.laws.choice import chosen_law
from penstock.services.multicast.messages import Membership, PriceRecord, SendToGroups
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.prices.names import price_name
from penstock.services.multicast.prices.pricing import Pricing
from penstock.services.multicast.streams.outbound import Outbound
from penstock.services.multicast.streams.senders import LocalSender, Senders
from penstock.services.multicast.streams.stream import Bought

from ..conftest import Known

NOW = 1_700_000_000 * SECOND
BATCH = Batch.from_rows([({}, bytes(840))])
PARAMETERS = MulticastParameters(waiting_bytes=3000)


class Broker:
    """Broker a; group ``far`` has a member at c, group ``near`` one at a."""

    def __init__(self, topology: Known) -> None:
        members = Members(PARAMETERS)
        law = chosen_law(PARAMETERS, Random(1))
        self.groups = GroupDirectory("a", NOW, PARAMETERS, members, topology)
        self.groups.replaced("b", Membership("c", 1, 1, {"far": ("m",)}), [])
        self.groups.changed_here("near", "n", joined=True, out=[])
        self.pricing = Pricing("a", PARAMETERS, law, {})
        outbound = Outbound("a", NOW, PARAMETERS, topology)
        self.senders = Senders(PARAMETERS, law, self.groups, self.pricing, outbound)

    def sender(self, name: str = "client/s", session: str = "client/1") -> LocalSender:
        return self.senders.open(name, session, 1.0, NOW)


@pytest.fixture
def broker(line: Known) -> Broker:
    return Broker(line)


def request(number: int, group: str = "far") -> SendToGroups:
    return SendToGroups("client/s", (group,), number, BATCH)


def test_a_message_to_members_of_this_broker_costs_nothing(broker: Broker) -> None:
    sender = broker.sender()
    broker.senders.add(sender, request(0, "near"), NOW)
    bought = broker.senders.next_bought(sender, NOW + 5)
    assert isinstance(bought, Bought)
    assert (bought.paid, bought.named, bought.waited_ns) == (0.0, (), 5)
    assert sender.sent_packets == 0
    assert broker.senders.next_bought(sender, NOW) is None


def test_a_message_over_links_waits_until_the_account_pays(broker: Broker) -> None:
    price = PriceRecord(link_number("b", "c"), 3, 0.5)
    broker.pricing.learn([price])
    sender = broker.sender()
    for number in range(2):
        assert broker.senders.add(sender, request(number), NOW) == ""
    now = NOW
    sent = []
    while sender.waiting:
        bought = broker.senders.next_bought(sender, now)
        if isinstance(bought, Bought):
            sent.append(bought.request.first_sequence)
            assert bought.named == (price_name(price),)
            assert bought.route.brokers == ("c",)
        else:
            assert bought is not None
            assert bought > now
            now = bought
    assert sent == [0, 1]
    assert now > NOW
    assert sender.waiting_bytes == 0


def test_a_client_that_does_not_wait_for_receipts_is_refused(broker: Broker) -> None:
    sender = broker.sender()
    problems = [broker.senders.add(sender, request(number), NOW) for number in range(4)]
    assert problems[:2] == ["", ""]
    assert "multicast.waiting_bytes" in problems[-1]
    assert broker.senders.waiting() == [sender]


def test_a_client_that_reconnects_keeps_its_account_and_not_its_messages(broker: Broker) -> None:
    sender = broker.sender()
    account = sender.account
    broker.senders.add(sender, request(0), NOW)
    again = broker.sender(session="client/2")
    assert again is sender
    assert again.account is account
    assert not again.waiting
    assert broker.senders.count_of_session("client/1") == 0
    assert broker.senders.count_of_session("client/2") == 1


def test_senders_go_with_their_session(broker: Broker) -> None:
    broker.sender("x")
    broker.sender("y", "client/2")
    broker.senders.close("y", "client/1")
    assert len(broker.senders) == 2, "another session cannot close it"
    broker.senders.session_closed("client/1")
    assert broker.senders.get("x") is None
    broker.senders.close("y", "client/2")
    assert len(broker.senders) == 0


def test_the_senders_of_a_client_share_its_name(broker: Broker) -> None:
    for name in ("alice/1", "alice/2", "alicia/1", "bob"):
        broker.sender(name)
    assert [each.producer for each in broker.senders.of_client("alice")] == ["alice/1", "alice/2"]
    assert broker.senders.clients() == {"alice", "alicia", "bob"}
