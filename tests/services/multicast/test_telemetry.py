"""What a broker records of the multicast service."""

from __future__ import annotations

from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.multicast.broker import MulticastBroker
from penstock.services.multicast.messages import (
    JoinGroup,
    Membership,
    MembershipTold,
    OpenGroupSender,
    SendToGroups,
)
from penstock.services.multicast.parameters import MulticastParameters

from .conftest import Known

NOW = 1_700_000_000 * SECOND
BATCH = Batch.from_rows([({}, bytes(840))])


def values(broker: MulticastBroker) -> dict[tuple[str, str], float]:
    records = list(broker.records(NOW + SECOND))
    assert {(each.at, each.node) for each in records} <= {(NOW + SECOND, "a")}
    return {(each.subject, each.metric): each.value for each in records}


def test_a_broker_without_groups_records_nothing(line: Known) -> None:
    broker = MulticastBroker("a", MulticastParameters(), line, queued_bytes={}, now=NOW)
    assert values(broker) == {}


def test_prices_senders_and_deliveries_are_recorded(line: Known) -> None:
    queued = {"b": 50_000}
    parameters = MulticastParameters(law="paper")
    broker = MulticastBroker("a", parameters, line, queued_bytes=queued, now=NOW)
    broker.routes_changed({}, {"b": "b", "c": "b"}, NOW)
    broker.link_up("b", NOW)
    broker.overlay_settled(NOW)
    broker.received("b", Membership("c", 1, 1, {"far": ("m",)}), NOW)
    broker.received("b", MembershipTold(), NOW)
    broker.queues_measured(NOW + 50 * MILLISECOND)
    broker.received("client/1", JoinGroup("n", "near", 1 << 20), NOW)
    broker.received("client/2", OpenGroupSender("s"), NOW)
    broker.received("client/2", SendToGroups("s", ("near",), 0, BATCH), NOW)
    broker.received("client/2", SendToGroups("s", ("far",), 1, BATCH), NOW)
    found = values(broker)
    assert found["a->b", "link_price"] > 0
    assert ("a->b", "link_price_bytes") not in found, "only a itself can use the price"
    assert found["sender s", "sender_waiting_bytes"] > 840
    assert found["sender s", "sender_sent_packets"] == 0
    assert found["multicast", "senders_waiting"] == 1
    assert found["multicast", "unconfirmed_bytes"] == 0
    assert found["multicast", "delivered_rows"] == 1
    assert found["multicast", "held_streams"] == 0
