"""The datagram service end to end: two brokers on loopback, real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import penstock
from penstock.client.datagram.datagram import TURN_MESSAGES, DatagramsRefused
from penstock.client.datagram.subscription import DatagramSubscription
from penstock.client.errors import (
    DeadlineExceeded,
    Disconnected,
    InvalidAttribute,
    MessageTooLarge,
    PenstockError,
)
from penstock.content.selectors.error import SelectorError
from penstock.net.broker.config import NeighbourConfig, broker_config
from penstock.net.broker.server import BrokerServer
from penstock.services.datagram.parameters import DatagramParameters

PATIENCE_S = 60.0


@asynccontextmanager
async def two_brokers(directory: Path, bandwidth: int = 0) -> AsyncIterator[tuple[str, str]]:
    """The addresses of ``near`` and ``far``; the link between them may be limited."""
    far = BrokerServer(
        broker_config(
            "far",
            str(directory / "far"),
            listen="127.0.0.1:0",
            pubends=0,
            neighbours={"near": NeighbourConfig()},
        )
    )
    await far.start()
    link = NeighbourConfig(str(far.address), bandwidth_bytes_per_s=bandwidth)
    near = BrokerServer(
        broker_config(
            "near",
            str(directory / "near"),
            listen="127.0.0.1:0",
            pubends=0,
            neighbours={"far": link},
        )
    )
    await near.start()
    try:
        yield f"penstock://{near.address}", f"penstock://{far.address}"
    finally:
        await near.stop()
        await far.stop()


async def until_connected(
    datagrams: penstock.client.datagram.datagram.Datagrams, subscription: DatagramSubscription
) -> None:
    """Publish until a message arrives: registration takes its time, and nothing is repeated."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            await datagrams.publish({"kind": "reading"}, b"first")
            try:
                await subscription.next(deadline_s=0.05)
            except DeadlineExceeded:
                continue
            return


async def fill(datagrams: penstock.client.datagram.datagram.Datagrams) -> None:
    """Publish until no more is taken; others have their turn in between."""
    for _ in range(1_000_000):
        if not datagrams.try_publish({"kind": "reading"}, bytes(200)):
            return
        await asyncio.sleep(0)


async def test_a_message_crosses_the_overlay_to_those_who_want_it(tmp_path: Path) -> None:
    async with (
        two_brokers(tmp_path) as (near, far),
        penstock.connect(near) as here,
        penstock.connect(far) as there,
        here.datagram("sensor") as sensor,
        there.datagram("reader", publishes=False) as reader,
        reader.subscribe("kind = 'reading'") as readings,
    ):
        assert (sensor.address, reader.address) == ("sensor@near", "reader@far")
        await until_connected(sensor, readings)
        assert sensor.try_publish({"kind": "noise"}, b"no")
        assert sensor.try_publish({"kind": "reading", "value": 21.5, "ok": True}, b"yes")
        message = await readings.next(deadline_s=PATIENCE_S)
        while message.payload == b"first":
            message = await readings.next(deadline_s=PATIENCE_S)
        assert message.payload == b"yes"
        assert message.publisher == "sensor@near"
        assert message.attributes == {"kind": "reading", "value": 21.5, "ok": True}
        for name in ("sensor", "sensor@near"):
            assert (await here.why_datagrams(name))["publisher"] == "sensor@near"
        with pytest.raises(PenstockError, match="knows no 'reader'"):
            await here.why_datagrams("reader")


async def test_bad_input_has_clear_errors(tmp_path: Path) -> None:
    async with (
        two_brokers(tmp_path) as (near, _),
        penstock.connect(near) as client,
        client.datagram("sensor") as sensor,
    ):
        with pytest.raises(MessageTooLarge, match="datagram_bytes"):
            await sensor.publish({}, bytes(2000))
        with pytest.raises(InvalidAttribute, match="put other values into the payload"):
            await sensor.publish({"raw": b"bytes"})
        with pytest.raises(InvalidAttribute, match="64 bits"):
            sensor.try_publish({"n": 2**70})
        with pytest.raises(SelectorError):
            sensor.subscribe("kind =")
        async with penstock.connect(near) as other:
            with pytest.raises(DatagramsRefused, match="choose another name"):
                await other.datagram("sensor").__aenter__()


async def test_a_limited_flow_waits_and_says_why(tmp_path: Path) -> None:
    parameters = DatagramParameters(queue_messages=5)
    async with (
        two_brokers(tmp_path, bandwidth=20_000) as (near, far),
        penstock.connect(near) as here,
        penstock.connect(far) as there,
        here.datagram("sensor", parameters=parameters) as sensor,
        there.datagram("reader", publishes=False) as reader,
        reader.subscribe("kind = 'reading'") as readings,
    ):
        await until_connected(sensor, readings)
        await fill(sensor)
        (flow,) = sensor.why().flows
        assert (flow.limiting_receiver, flow.waiting_messages) == ("reader@far", 5)
        with pytest.raises(DeadlineExceeded, match="reader@far limits"):
            await sensor.publish({"kind": "reading"}, bytes(200), deadline_s=0.0)
        assert sensor.try_publish({"kind": "other"}, b"")
        # What waits for its turn has a turn.
        await sensor.publish({"kind": "reading"}, bytes(200), deadline_s=PATIENCE_S)


async def test_what_is_closed_is_over(tmp_path: Path) -> None:
    async with two_brokers(tmp_path) as (near, _), penstock.connect(near) as client:
        async with client.datagram("sensor") as sensor:
            subscription = sensor.subscribe("")
            await subscription.open()
        with pytest.raises(Disconnected):
            await sensor.publish({}, b"")
        assert [message async for message in subscription] == []
        async with client.datagram("sensor") as again:
            assert again.address == "sensor@near"


async def test_an_application_that_does_not_read_loses_the_oldest(tmp_path: Path) -> None:
    async with (
        two_brokers(tmp_path) as (near, _),
        penstock.connect(near) as client,
        client.datagram("both") as both,
        both.subscribe("kind = 'reading'", unread_messages=3) as few,
        both.subscribe("kind = 'reading'") as all_of_them,
    ):
        for number in range(10):
            await both.publish({"kind": "reading"}, b"%d" % number)
        for _ in range(10):
            last = await all_of_them.next(deadline_s=PATIENCE_S)
        assert last.payload == b"9"
        assert few.missed == 7
        assert (await few.next()).payload == b"7"


async def test_a_batch_has_everything_that_is_there(tmp_path: Path) -> None:
    async with (
        two_brokers(tmp_path) as (near, _),
        penstock.connect(near) as client,
        client.datagram("both") as both,
        both.subscribe("kind = 'reading'") as readings,
    ):
        for number in range(20):
            await both.publish({"kind": "reading"}, b"%d" % number)
        payloads: list[bytes] = []
        while len(payloads) < 20:
            batch = await readings.next_batch(deadline_s=PATIENCE_S)
            assert batch
            payloads += [message.payload for message in batch]
        assert payloads == [b"%d" % number for number in range(20)]
        with pytest.raises(DeadlineExceeded, match="no message of"):
            await readings.next_batch(deadline_s=0.01)
        with pytest.raises(DeadlineExceeded, match="no message of"):
            await readings.next(deadline_s=0.0)


async def test_who_only_publishes_gives_the_loop_its_turns(tmp_path: Path) -> None:
    async with (
        two_brokers(tmp_path) as (near, _),
        penstock.connect(near) as client,
        client.datagram("sensor") as sensor,
    ):
        turns = 0

        def turn() -> None:
            nonlocal turns
            turns += 1
            asyncio.get_running_loop().call_soon(turn)

        turn()
        for _ in range(4 * TURN_MESSAGES):
            await sensor.publish({"kind": "reading"}, b"")
        assert turns >= 4


def test_programs_without_an_event_loop(tmp_path: Path) -> None:
    ready: list[str] = []

    async def serve(stop: asyncio.Event) -> None:
        async with two_brokers(tmp_path) as (near, _):
            ready.append(near)
            await asyncio.get_running_loop().run_in_executor(None, use, near)
            stop.set()

    def use(url: str) -> None:
        with (
            penstock.blocking.connect(url) as client,
            client.datagram("both") as both,
            both.subscribe("kind = 'reading'") as readings,
        ):
            both.publish({"kind": "reading"}, b"one")
            assert both.try_publish({"kind": "reading"}, b"two")
            received = [readings.next(deadline_s=PATIENCE_S).payload for _ in range(2)]
            assert received == [b"one", b"two"]
            both.publish({"kind": "reading"}, b"three")
            assert [each.payload for each in readings.next_batch(deadline_s=PATIENCE_S)] == [
                b"three"
            ]
            assert both.why().flows == ()
            assert client.why_datagrams("both")["publisher"] == "both@near"
            assert readings.missed == 0

    asyncio.run(serve(asyncio.Event()))
    assert ready


async def test_what_was_published_last_goes_out_before_the_client_closes(tmp_path: Path) -> None:
    async with (
        two_brokers(tmp_path) as (near, _),
        penstock.connect(near) as reading,
        reading.datagram("reader", publishes=False) as reader,
        reader.subscribe("kind = 'reading'") as readings,
        penstock.connect(near) as writing,
    ):
        async with writing.datagram("sensor") as sensor:
            await sensor.publish({"kind": "reading"}, b"last words")
        assert (await readings.next(deadline_s=PATIENCE_S)).payload == b"last words"
