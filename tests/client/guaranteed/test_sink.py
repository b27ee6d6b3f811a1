"""Publishing in steps that happen whole or not at all, at a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from penstock.client.blocking import client as blocking
from penstock.client.client import connect
from penstock.client.errors import AnswerLost, Disconnected
from penstock.client.guaranteed.sink import Sink, SinkRefusedError
from penstock.net.process import BrokerProcess
from penstock.services.guaranteed.staging.messages import StagesCommitted


@pytest.fixture
def client(url: str) -> Iterator[blocking.Client]:
    with blocking.connect(url) as connected:
        yield connected


def rows(*numbers: int) -> list[tuple[dict[str, int], bytes]]:
    return [({"n": number}, b"") for number in numbers]


def published(client: blocking.Client, start: int) -> list[int]:
    head = client.streams()["a.1"].head
    subscription = client.subscribe("", start={"a.1": start}, end={"a.1": head})
    return [int(message["n"]) for message in subscription.messages(deadline_s=30)]


def test_a_step_happens_whole_and_once(client: blocking.Client) -> None:
    start = client.streams()["a.1"].head
    sink = client.sink("whole", pubend="a.1")
    stage = sink.stage(0, "part")
    stage.write(rows(1, 2))
    stage.write(rows(3))
    stage.write([])
    assert stage.rows == 3
    assert published(client, start) == []
    assert sink.commit(0, {"part": 3}) == 3
    assert sink.commit(0, {"part": 3}) == 0
    again = sink.stage(0, "other")
    again.write(rows(1))
    assert again.is_committed
    assert published(client, start) == [1, 2, 3]


def test_what_was_dropped_cannot_be_committed(client: blocking.Client) -> None:
    sink = client.sink("dropped", pubend="a.1")
    stage = sink.stage(0, "part")
    stage.write(rows(1))
    sink.drop(0)
    with pytest.raises(SinkRefusedError, match="stage 'part' of epoch 0 holds 0 rows instead of 1"):
        sink.commit(0, {"part": 1})


def test_rows_that_break_a_limit_are_refused_and_the_client_goes_on(
    client: blocking.Client,
) -> None:
    sink = client.sink("limits", pubend="a.1")
    with pytest.raises(SinkRefusedError, match="max_value_bytes"):
        sink.stage(0, "part").write([({"text": "x" * (1 << 20)}, b"")])
    stage = sink.stage(0, "small")
    stage.write(rows(1))
    assert stage.rows == 1


def test_a_sink_needs_a_name(client: blocking.Client) -> None:
    with pytest.raises(ValueError, match="cannot be empty"):
        client.sink("")


def test_a_broker_that_is_killed_between_staging_and_commit_forgets_nothing(start_broker) -> None:
    broker: BrokerProcess = start_broker("forgetful", 'pubends = ["a.1"]')
    host, port = broker.address
    with blocking.connect(f"penstock://{host}:{port}") as client:
        # A log that holds nothing yet begins where its broker was started last.
        client.publisher(pubend="a.1").publish_batch(rows(0))
        start = client.streams()["a.1"].head
        sink = client.sink("survives", pubend="a.1")
        stage = sink.stage(0, "part")
        stage.write(rows(1, 2))
        broker.kill()
        broker.start()
        assert sink.commit(0, {"part": 2}) == 2
        broker.kill()
        broker.start()
        assert sink.commit(0, {"part": 2}) == 0
        assert published(client, start) == [1, 2]


async def test_a_sink_of_a_closed_client_says_so_at_once(url: str) -> None:
    client = await connect(url)
    sink = client.sink("closed", pubend="a.1")
    await client.close()
    with pytest.raises(Disconnected, match="was closed"):
        await sink.commit(0, {"part": 1}, deadline_s=60)


async def test_a_question_is_asked_again_only_while_the_session_lasts() -> None:
    asked = []

    async def ask(question: object, deadline_s: float) -> StagesCommitted:
        asked.append(question)
        if len(asked) == 1:
            raise AnswerLost("the connection was lost")
        if len(asked) == 2:
            return StagesCommitted("s", 0, 3)
        raise Disconnected("the client was closed")

    sink = Sink(ask, asyncio.Lock(), "s", "", deadline_s=60)
    assert await sink.commit(0, {"part": 3}) == 3
    with pytest.raises(Disconnected, match="the client was closed"):
        await sink.commit(1, {"part": 3})
    assert len(asked) == 3
