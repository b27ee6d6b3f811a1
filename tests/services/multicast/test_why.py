"""What holds a sender back, as codes and numbers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND
from penstock.services.multicast.broker import MulticastBroker
from penstock.services.multicast.groups.route import link_number
from penstock.services.multicast.laws.law import WaitsFor
from penstock.services.multicast.messages import (
    Membership,
    MembershipTold,
    OpenGroupSender,
    PriceRecord,
    Prices,
    SendToGroups,
)
from penstock.services.multicast.parameters import Law, MulticastParameters
from penstock.services.multicast.why import explain_groups, explain_sender

from .conftest import Known

NOW = 1_700_000_000 * SECOND
BATCH = Batch.from_rows([({}, bytes(840))])


def explained(line: Known, law: Law, price: float, messages: int = 1) -> dict[str, Any]:
    """A sender of broker a whose messages go to c, over b."""
    parameters = MulticastParameters(law=law)
    broker = MulticastBroker("a", parameters, line, queued_bytes={}, now=NOW)
    broker.link_up("b", NOW)
    broker.overlay_settled(NOW)
    broker.received("b", Membership("c", 1, 1, {"g": ("m",)}), NOW)
    broker.received("b", MembershipTold(), NOW)
    broker.received("b", Prices((PriceRecord(link_number("b", "c"), 1, price),)), NOW)
    broker.received("client/1", OpenGroupSender("s"), NOW)
    for number in range(messages):
        broker.received("client/1", SendToGroups("s", ("g",), number, BATCH), NOW)
    found = broker.senders.of_client("s")
    document = explain_sender(
        found, "a", broker.groups, broker.pricing, broker.outbound, parameters, NOW + SECOND
    )
    (answer,) = msgspec.json.decode(document)["senders"]
    assert isinstance(answer, dict)
    return answer


def test_the_tree_is_told_link_by_link_with_the_dearest(line: Known) -> None:
    answer = explained(line, "improved", 0.5)
    assert answer["receiving_brokers"] == ["c"]
    assert answer["tree"] == [{"link": "a->b", "price": 0.0}, {"link": "b->c", "price": 0.5}]
    assert (answer["price"], answer["dearest_link"]) == (0.5, "b->c")
    assert (answer["waiting_messages"], answer["waiting_for_s"]) == (1, 1.0)
    assert not answer["window_full"]


def test_without_prices_no_link_is_the_dearest(line: Known) -> None:
    assert explained(line, "improved", 0.0)["dearest_link"] == ""


@pytest.mark.parametrize(
    ("law", "waits_for"), [("paper", WaitsFor.MONEY), ("improved", WaitsFor.SLOW_START)]
)
def test_what_the_account_waits_for_is_a_code(line: Known, law: Law, waits_for: WaitsFor) -> None:
    answer = explained(line, law, 0.5)
    assert answer["law"] == law
    assert answer["account"]["waits_for"] == waits_for.value


def test_groups_are_listed_with_their_members(line: Known) -> None:
    broker = MulticastBroker("a", MulticastParameters(), line, queued_bytes={}, now=NOW)
    broker.received("b", Membership("c", 1, 1, {"g": ("m",), "h": ("n",), "@m": ("m",)}), NOW)
    everything = msgspec.json.decode(explain_groups(broker.groups, ""))
    assert everything == {"g": ["m@c"], "h": ["n@c"]}
    assert msgspec.json.decode(explain_groups(broker.groups, "g")) == {"g": ["m@c"]}
    assert msgspec.json.decode(explain_groups(broker.groups, "void")) == {"void": []}
