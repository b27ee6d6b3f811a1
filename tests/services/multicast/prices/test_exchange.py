"""Prices are set, told to those who need them, on a message where one is expected."""

from __future__ import annotations

from random import Random

from penstock.content.codec.size import encoded_size
from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.machine import Effect, Priority, Send
from penstock.services.multicast.groups.route import link_number
from penstock.services.multicast.laws.choice import chosen_law
from penstock.services.multicast.messages import PriceRecord, Prices
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.prices.exchange import PriceExchange
from penstock.services.multicast.prices.riders import RIDER_BYTES

from ..conftest import Known

NOW = 1_700_000_000 * SECOND
T_MIN = 50 * MILLISECOND
PARAMETERS = MulticastParameters(law="paper")


class Sending:
    def __init__(self, *brokers: str) -> None:
        self.brokers = brokers

    def sending_brokers(self) -> tuple[str, ...]:
        return self.brokers


class Broker:
    """Broker b of a - b - c; clients of a send."""

    def __init__(self, topology: Known) -> None:
        self.queued: dict[str, int] = {}
        self.sending = Sending("a")
        law = chosen_law(PARAMETERS, Random(1))
        self.prices = PriceExchange("b", PARAMETERS, law, topology, self.sending, self.queued)
        self.out: list[Effect] = []
        self.prices.routes_changed()
        for link in ("a", "c"):
            self.prices.link_up(link, NOW, self.out)

    def told(self) -> list[tuple[str, tuple[PriceRecord, ...]]]:
        told = []
        for each in self.out:
            assert isinstance(each, Send)
            assert each.priority is Priority.CONTROL
            assert isinstance(each.message, Prices)
            told.append((each.link, each.message.records))
        self.out.clear()
        return told


def test_a_congested_links_price_goes_to_the_senders_side_only(line: Known) -> None:
    broker = Broker(line)
    broker.queued["c"] = 50_000
    assert broker.prices.update(NOW + T_MIN, broker.out)
    ((link, (record,)),) = broker.told()
    assert link == "a"
    assert record.link == link_number("b", "c")
    assert record.price > 0
    assert not broker.prices.update(NOW + T_MIN + 1, broker.out), "not before T_min"


def test_news_is_passed_on_and_what_was_known_is_not(line: Known) -> None:
    broker = Broker(line)
    broker.sending.brokers = ("c",)
    broker.prices.senders_changed()
    record = PriceRecord(link_number("b", "a"), 1 << 50, 2.0)
    assert broker.prices.learn("a", [record], NOW, broker.out)
    assert broker.told() == [("c", (record,))]
    assert not broker.prices.learn("a", [record], NOW, broker.out)
    assert broker.told() == []


def test_a_new_neighbour_hears_the_prices_above_zero(line: Known) -> None:
    broker = Broker(line)
    broker.queued["c"] = 50_000
    broker.prices.update(NOW + T_MIN, broker.out)
    ((_, told),) = broker.told()
    broker.prices.link_down("a")
    broker.prices.link_up("a", NOW + T_MIN, broker.out)
    assert broker.told() == [("a", told)]


def test_a_price_rides_on_an_expected_message_or_goes_alone_in_time(line: Known) -> None:
    broker = Broker(line)
    now = NOW
    for _ in range(100):
        now += MILLISECOND
        broker.prices.board("a", now)
    broker.queued["c"] = 50_000
    now += T_MIN
    broker.prices.board("a", now)
    broker.prices.update(now, broker.out)
    assert broker.told() == [], "it waits for the next message to a"
    (rode,) = broker.prices.board("a", now + MILLISECOND)
    assert rode.link == link_number("b", "c")
    broker.prices.update(now + T_MIN, broker.out)
    assert broker.told() == []
    due = broker.prices.next_deadline()
    assert due == now + T_MIN + PARAMETERS.ride_wait_ns
    broker.prices.deadline(due, broker.out)
    ((link, _),) = broker.told()
    assert link == "a"
    told = broker.prices.riders.told["a"]
    assert (told.rode, told.went_alone) == (1, 1)
    own = broker.prices.pricing.own_links()["c"]
    assert own.told_bytes == RIDER_BYTES + encoded_size(Prices((rode,)))
