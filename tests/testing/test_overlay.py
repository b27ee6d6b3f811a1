"""Several brokers in one test."""

from __future__ import annotations

import asyncio

import pytest

import penstock
import penstock.testing
from penstock.testing import BrokerMisused

LINE = {"paris": ["rome"], "rome": ["oslo"]}


async def test_messages_cross_the_overlay() -> None:
    async with (
        penstock.testing.overlay(LINE) as brokers,
        brokers["paris"].connect() as publisher,
        brokers["oslo"].connect() as reader,
        reader.subscribe("number > 1") as subscription,
    ):
        assert list(brokers) == ["paris", "rome", "oslo"]
        for number in range(3):
            await publisher.publish({"number": number})
        assert (await subscription.next(deadline_s=5))["number"] == 2
        assert len(brokers["paris"].published()) == 3
        assert brokers["oslo"].published() == []


async def test_what_was_published_during_a_cut_arrives_after_it() -> None:
    async with (
        penstock.testing.overlay(LINE) as brokers,
        brokers["paris"].connect() as publisher,
        brokers["oslo"].connect() as reader,
        reader.subscribe() as subscription,
    ):
        brokers.cut("rome", "oslo")
        await publisher.publish({"number": 1})
        with pytest.raises(penstock.DeadlineExceeded):
            await subscription.next(deadline_s=30)
        brokers.mend("rome", "oslo")
        await brokers.linked()
        assert (await subscription.next(deadline_s=30))["number"] == 1


async def test_a_broker_in_the_middle_restarts() -> None:
    async with (
        penstock.testing.overlay(LINE) as brokers,
        brokers["paris"].connect() as publisher,
        brokers["oslo"].connect() as reader,
        reader.subscribe() as subscription,
    ):
        await brokers["rome"].crash()
        await publisher.publish({"number": 1})
        await asyncio.sleep(5)
        await brokers["rome"].start()
        assert (await subscription.next(deadline_s=60))["number"] == 1


async def test_queues_are_reached_over_links() -> None:
    async with (
        penstock.testing.overlay(LINE, queues={"oslo": ["orders"]}) as brokers,
        brokers["paris"].connect() as client,
    ):
        await client.queues.send("orders@oslo", {"number": 1})
        assert brokers["oslo"].queue("orders").waiting == 1


async def test_a_link_is_as_slow_as_it_is_told() -> None:
    async with (
        penstock.testing.overlay({"a": ["b"]}) as brokers,
        brokers["a"].connect() as publisher,
        brokers["b"].connect() as reader,
        reader.subscribe() as subscription,
    ):
        brokers.limit("a", "b", 10_000)
        began = brokers["a"].now
        for _ in range(2):
            await publisher.publish({}, b"x" * 100_000)
        # The second message waits until the link has had the time for the first.
        for _ in range(2):
            await subscription.next(deadline_s=60)
        assert (brokers["a"].now - began).total_seconds() > 9


async def test_a_hanging_broker_is_taken_for_dead_by_its_neighbours() -> None:
    async with penstock.testing.overlay(LINE) as brokers:
        brokers["rome"].pause()
        await brokers.advance(10)
        assert not brokers["paris"].status().links["rome"].up
        assert not brokers["oslo"].status().links["rome"].up
        brokers["rome"].resume()
        await brokers.linked()


async def test_names_that_do_not_exist() -> None:
    with pytest.raises(BrokerMisused, match="without brokers"):
        penstock.testing.overlay({})
    with pytest.raises(BrokerMisused, match="queues= names 'bern'"):
        penstock.testing.overlay(LINE, queues={"bern": ["orders"]})
    async with penstock.testing.overlay({"a": ["b"], "b": ["a"], "c": []}) as brokers:
        with pytest.raises(BrokerMisused, match="no brokers 'a' and 'x'"):
            brokers.cut("a", "x")
        with pytest.raises(BrokerMisused, match="has no link 'c'"):
            brokers.cut("a", "c")
