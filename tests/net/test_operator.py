"""What an operator meets: a disk that fails, damaged logs, names that are used twice, clocks."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.why import WhyReply, WhyRequest
from penstock.net.broker import server as server_module
from penstock.net.broker.config import NeighbourConfig
from penstock.services.guaranteed.messages import (
    Delivery,
    OpenProducer,
    ProducerOpened,
    Publish,
    PublishRefused,
)
from penstock.services.queues.messages import (
    Deliver,
    ListQueues,
    OpenSender,
    QueueAnswer,
    Receive,
    SenderOpened,
    SendReceipt,
    SendToQueue,
)
from penstock.services.queues.parameters import QueueConfig

DAY_NS = 86_400 * 10**9


def row(payload: bytes) -> Batch:
    return Batch.from_rows([({"topic": "t"}, payload)])


def damage(directory: Path, log: str, content: bytes) -> None:
    """Flip a bit in the one record of a log that has this content."""
    for path in sorted((directory / "logs" / log).glob("*.segment")):
        data = bytearray(path.read_bytes())
        place = data.find(content)
        if place >= 0:
            data[place] ^= 1
            path.write_bytes(data)
            return
    raise AssertionError(f"{content!r} is nowhere in {log}")


async def test_a_failed_sync_is_uncertain_for_one_pubend_and_no_other(
    brokers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await brokers.start(pubends=["b.1", "b.2"])
    client = await brokers.client(broker)
    for number, pubend in enumerate(("b.1", "b.2")):
        client.send(OpenProducer(f"p{number}", pubend))
        await client.heard(ProducerOpened, lambda m, name=f"p{number}": m.producer == name)
    await client.publish("p0", 0, [b"stored"])
    fdatasync = os.fdatasync

    def fail_once(descriptor: int) -> None:
        if not os.readlink(f"/proc/self/fd/{descriptor}").endswith(
            "b.1/00000000000000000001.segment"
        ):
            fdatasync(descriptor)
            return
        monkeypatch.undo()
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fail_once)
    client.send(Publish("p0", 1, row(b"unknown")))
    unsure = await client.heard(PublishRefused)
    assert (unsure.first_sequence, unsure.uncertain) == (1, True)
    client.send(Publish("p0", 2, row(b"late")))
    refused = await client.heard(PublishRefused, lambda m: m.first_sequence == 2)
    assert not refused.uncertain
    assert "takes nothing more until the broker is started again" in refused.reason
    await client.publish("p1", 0, [b"elsewhere"])

    status = await client.status()
    (problem,) = status.services["guaranteed"]["pubends"]["b.1"]["problems"]
    assert "fdatasync failed" in problem
    assert problem in status.problems
    assert status.services["guaranteed"]["pubends"]["b.2"]["problems"] == []

    await brokers.stop(broker)
    again = await brokers.start(pubends=["b.1", "b.2"])
    client = await brokers.client(again)
    await client.subscribe("s", start="earliest", pubends=("b.1",))
    client.send(OpenProducer("p0", "b.1"))
    await client.heard(ProducerOpened)
    client.send(Publish("p0", 5, row(b"after")))
    await client.until(lambda: b"after" in client.payloads("s"))
    assert client.payloads("s") in (
        [b"stored", b"unknown", b"after"],
        [b"stored", b"after"],
    )


async def test_a_damaged_record_is_a_loss_that_readers_far_away_are_told(
    brokers: Any, tmp_path: Path
) -> None:
    pb = await brokers.start("pb", pubends=["pb.1"], neighbours={"sb": NeighbourConfig()})
    client = await brokers.client(pb)
    for number in range(5):
        await client.publish("p", number, [b"message %d" % number])
    await brokers.stop(pb)
    damage(tmp_path / "pb", "pubend%2Fpb.1", b"message 2")

    pb = await brokers.start("pb", pubends=["pb.1"], neighbours={"sb": NeighbourConfig()})
    sb = await brokers.start("sb", neighbours={"pb": NeighbourConfig(address=str(pb.address))})
    reader = await brokers.client(sb)
    await reader.subscribe("s", "topic = 't'", start="earliest", durable=True)
    received = await reader.delivered("s", 4)
    assert received == [b"message 0", b"message 1", b"message 3", b"message 4"]
    (loss,) = [m.frame for m in reader.messages if isinstance(m, Delivery) and m.frame.final]

    client = await brokers.client(pb)
    status = await client.status()
    assert status.services["guaranteed"]["pubends"]["pb.1"]["lost"] == [[loss.low, loss.high]]
    assert any("is damaged" in problem for problem in status.problems)
    client.send(WhyRequest("pb.1"))
    why = await client.heard(WhyReply)
    assert f"[{loss.low}, {loss.high})".encode() in why.document
    await client.publish("p", 5, [b"message 5"])
    assert (await reader.delivered("s", 5))[-1] == b"message 5"


async def test_a_queue_goes_on_without_what_is_damaged(brokers: Any, tmp_path: Path) -> None:
    queues = {"q": QueueConfig("q")}
    broker = await brokers.start("b", queues=queues)
    client = await brokers.client(broker)
    client.send(OpenSender("a", "q"))
    await client.heard(SenderOpened)
    for number in range(4):
        client.send(SendToQueue("a", "q", number, row(b"message %d" % number)))
        await client.heard(SendReceipt, lambda m, at=number: m.first_sequence == at)
    await brokers.stop(broker)
    damage(tmp_path / "b", "queue%2Fq", b"message 1")

    broker = await brokers.start("b", queues=queues)
    client = await brokers.client(broker)
    client.send(Receive("c", "q", credit=10))

    def received() -> list[bytes]:
        frames = [m.frame for m in client.messages if isinstance(m, Deliver)]
        return [bytes(each) for frame in frames for each in frame.batch.payload_rows()]

    await client.until(lambda: len(received()) == 3)
    assert received() == [b"message 0", b"message 2", b"message 3"]
    client.send(ListQueues("q", request=1))
    answer = await client.heard(QueueAnswer)
    assert b"its log is damaged at the positions [2, 3)" in answer.document


async def test_a_second_broker_of_one_name_is_refused_and_so_are_its_clients(
    brokers: Any,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, "PROBLEMS_EVERY_S", 0.01)
    pb = await brokers.start("pb", neighbours={"sb": NeighbourConfig()})
    towards = {"pb": NeighbourConfig(address=str(pb.address))}
    first = await brokers.start("sb", neighbours=towards)
    reader = await brokers.client(first)
    await reader.subscribe("s")
    second = await brokers.start("sb", data_dir=str(tmp_path / "other"), neighbours=towards)
    stranger = await brokers.client(second)
    assert "another broker called 'sb' is in the overlay" in await stranger.closed()
    late = await brokers.client(second)
    assert "another broker called 'sb' is in the overlay" in await late.closed()

    witness = await brokers.client(pb)
    (problem,) = (await witness.status()).problems
    assert "two brokers are called 'sb'" in problem
    assert problem in caplog.text
    await witness.publish("p", 0, [b"hello"])
    assert await reader.delivered("s", 1) == [b"hello"], "the first one is not disturbed"

    await brokers.stop(first)
    await second_is_linked(brokers, second)
    assert (await witness.status()).problems == ()


async def second_is_linked(brokers: Any, second: Any) -> None:
    """When the first has left, the second takes its place, and serves its clients."""
    while not (await is_served(brokers, second) and second._neighbours.links["pb"].up):
        pass


async def is_served(brokers: Any, broker: Any) -> bool:
    client = await brokers.client(broker)
    client.send(OpenProducer("p"))
    await client.until(lambda: client.messages or client.closed_because)
    return bool(client.messages)


async def test_a_broker_that_was_started_anew_is_not_another_one(brokers: Any) -> None:
    pb = await brokers.start("pb", neighbours={"sb": NeighbourConfig()})
    towards = {"pb": NeighbourConfig(address=str(pb.address))}
    for _ in range(2):
        sb = await brokers.start("sb", neighbours=towards)
        reader = await brokers.client(sb)
        await reader.subscribe("s")
        await brokers.stop(sb)
    witness = await brokers.client(pb)
    assert (await witness.status()).problems == ()


async def test_a_clock_that_was_far_ahead_is_said_to_everybody_whom_it_concerns(
    brokers: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    time_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: time_ns() + 400 * DAY_NS)
    broker = await brokers.start()
    client = await brokers.client(broker)
    await client.publish("p", 0, [b"of the future"])
    assert (await client.status()).problems == ()
    await brokers.stop(broker)
    monkeypatch.undo()

    broker = await brokers.start()
    client = await brokers.client(broker)
    told = await client.subscribe("s", start="time", start_time=time_ns())
    (ahead_ns,) = told.ahead_ns.values()
    assert 399 * DAY_NS < ahead_ns < 401 * DAY_NS
    assert await client.delivered("s", 1) == [b"of the future"]
    problems = (await client.status()).problems
    assert any("is ahead of this broker's clock by 400.0 days" in each for each in problems)
    assert any("ahead of the time of day by 400.0 days" in each for each in problems)
    await client.until(lambda: "is ahead of this broker's clock" in caplog.text)
