"""How a client behaves towards brokers that do what real ones do not: scripted peers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

import penstock
from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.message import Message
from penstock.core.why import WhyReply, WhyRequest
from penstock.net.tcp.connection import Connection
from penstock.overlay.messages import Hello, Status, StatusRequest
from penstock.services.guaranteed.messages import (
    Delivery,
    DescribeStreams,
    OpenProducer,
    ProducerOpened,
    Publish,
    PublishReceipt,
    StreamBounds,
    StreamsDescribed,
    Subscribe,
    Subscribed,
    ThrottleNotice,
    Unsubscribe,
    Unsubscribed,
)

DEADLINE_S = 20.0

Answer = Callable[["ScriptedBroker", Connection, Message], None]


class ScriptedBroker:
    """Shakes hands like a broker and then does what its script says with each message."""

    def __init__(self, answer: Answer, role: str = "broker") -> None:
        self.answer = answer
        self.role = role
        self.received: list[Message] = []
        self.connections: list[Connection] = []
        self.url = ""

    async def __aenter__(self) -> ScriptedBroker:
        hello = Hello(self.role, "scripted", 0, "test")
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(hello, self), "127.0.0.1", 0)
        self.url = f"penstock://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for connection in self.connections:
            connection.abort("the test is over")
            await connection.wait_closed()
        await self._server.wait_closed()

    def on_open(self, connection: Connection) -> None:
        self.connections.append(connection)

    def on_messages(self, connection: Connection, messages: list[Message]) -> None:
        for message in messages:
            self.received.append(message)
            self.answer(self, connection, message)

    def on_writable(self, connection: Connection) -> None:
        pass

    def on_closed(self, connection: Connection, reason: str) -> None:
        pass


def well_behaved(broker: ScriptedBroker, connection: Connection, message: Message) -> None:
    match message:
        case OpenProducer(producer=producer):
            connection.send(ProducerOpened(producer, "p", 0))
        case Publish(producer=producer, first_sequence=first, batch=batch):
            connection.send(PublishReceipt(producer, first, len(batch), 1000 + first))
        case Subscribe(subscription=name, positions=positions):
            connection.send(Subscribed(name, positions or {"p": 0}))
        case Unsubscribe(subscription=name):
            connection.send(Unsubscribed(name))
        case StatusRequest():
            connection.send(Status(b'{"name": "scripted"}', request=message.request))


def rows(low: int, high: int) -> Frame:
    ticks = range(low, high)
    return Frame(low, high, ticks, Batch.from_rows([({"n": tick}, b"") for tick in ticks]))


@pytest.fixture
async def broker() -> AsyncIterator[ScriptedBroker]:
    async with ScriptedBroker(well_behaved) as scripted:
        yield scripted


async def test_the_script_is_a_broker_to_the_client(broker: ScriptedBroker) -> None:
    async with penstock.connect(broker.url) as client:
        assert await client.publish({"n": 1}) == penstock.Receipt("p", 1000, 0)
        assert (await client.status())["name"] == "scripted"


async def test_a_broker_that_contradicts_itself_is_left_and_asked_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def repeats_once(broker: ScriptedBroker, connection: Connection, message: Message) -> None:
        well_behaved(broker, connection, message)
        if isinstance(message, Subscribe):
            start = message.positions.get("p", 0)
            connection.send(Delivery(message.subscription, "p", rows(start, 8)))
            if len(broker.connections) == 1:
                connection.send(Delivery(message.subscription, "p", rows(5, 9)))

    async with (
        ScriptedBroker(repeats_once) as broker,
        penstock.connect(broker.url) as client,
        client.subscribe() as subscription,
    ):
        seen = [(await subscription.next(deadline_s=DEADLINE_S))["n"] for _ in range(8)]
        assert seen == list(range(8))
    assert "was delivered up to 8, then again from 5" in caplog.text
    assert len(broker.connections) == 2


async def test_a_receipt_for_nothing_is_a_contradiction_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def confused(broker: ScriptedBroker, connection: Connection, message: Message) -> None:
        if isinstance(message, Publish) and len(broker.connections) == 1:
            connection.send(PublishReceipt(message.producer, 77, 1, 1))
        else:
            well_behaved(broker, connection, message)

    async with ScriptedBroker(confused) as broker, penstock.connect(broker.url) as client:
        assert (await client.publish({"n": 1})).sequence == 0
    assert "which were not sent so" in caplog.text


async def test_an_answer_that_nobody_asked_for_is_a_contradiction(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with ScriptedBroker(well_behaved) as broker, penstock.connect(broker.url) as client:
        await client.publish({"n": 1})
        broker.connections[0].send(Status(b"{}", request=1))
        while len(broker.connections) < 2:  # noqa: ASYNC110 - the broker's end has no event
            await asyncio.sleep(0.01)
        assert (await client.publish({"n": 2})).sequence == 1
    assert "no request asked for Status" in caplog.text


async def test_a_question_is_not_asked_again_on_another_connection() -> None:
    def hangs_up(broker: ScriptedBroker, connection: Connection, message: Message) -> None:
        connection.close("enough")

    async with ScriptedBroker(hangs_up) as broker, penstock.connect(broker.url) as client:
        with pytest.raises(penstock.Disconnected, match="enough"):
            await client.status()


async def test_answers_of_different_kinds_may_overtake_each_other() -> None:
    def status_first(broker: ScriptedBroker, connection: Connection, message: Message) -> None:
        if isinstance(message, StatusRequest):
            connection.send(Status(b'{"name": "scripted"}', request=message.request))
            connection.send(WhyReply("guaranteed", b'{"limit": null}', request=1))

    async with ScriptedBroker(status_first) as broker, penstock.connect(broker.url) as client:
        reason, status = await asyncio.gather(client.why("p"), client.status())
        assert reason == {"service": "guaranteed", "limit": None}
        assert status == {"name": "scripted"}


async def test_the_cause_of_a_delay_is_known_while_it_lasts() -> None:
    def throttles(broker: ScriptedBroker, connection: Connection, message: Message) -> None:
        if isinstance(message, Publish):
            connection.send(ThrottleNotice("other", 1.0, 0.0, 0, "rule", "elsewhere"))
            connection.send(ThrottleNotice("p", 5.0, 9.0, 0, "rule", "edge 'e' is slow"))
        else:
            well_behaved(broker, connection, message)

    async with ScriptedBroker(throttles) as broker, penstock.connect(broker.url) as client:
        publisher = client.publisher()
        with pytest.raises(
            penstock.DeadlineExceeded, match="5 messages/s because edge 'e' is slow"
        ):
            await publisher.publish({}, deadline_s=0.5)
        assert publisher.throttle is not None
        assert publisher.throttle.cause == "edge 'e' is slow"
        broker.connections[0].send(ThrottleNotice("p", 0.0, 9.0, 0, "", ""))
        await client.status()
        assert publisher.throttle is None
        broker.answer = well_behaved
        broker.connections[0].close("again")
        await publisher.flush(deadline_s=DEADLINE_S)


async def test_the_application_is_told_of_a_limit_and_each_receipt_of_its_cause() -> None:
    slow = ThrottleNotice("p", 5.0, 9.0, 7, "nonrecovering alert", "link 'a->b'")
    lifted = ThrottleNotice("p", 0.0, 4.0, 8, "", "")

    def throttles(broker: ScriptedBroker, connection: Connection, message: Message) -> None:
        if isinstance(message, Publish):
            connection.send(slow)
            connection.send(lifted)
            first, count = message.first_sequence, len(message.batch)
            waited_ns = 3 * 10**9 if first == 0 else 0
            connection.send(PublishReceipt(message.producer, first, count, 100, waited_ns))
        else:
            well_behaved(broker, connection, message)

    told: list[ThrottleNotice] = []

    def tell(notice: ThrottleNotice) -> None:
        told.append(notice)
        raise RuntimeError("a mistake of the application")

    async with ScriptedBroker(throttles) as broker, penstock.connect(broker.url) as client:
        publisher = client.publisher(on_throttle=tell)
        held_back = await publisher.publish({}, deadline_s=DEADLINE_S)
        at_once = await publisher.publish({}, deadline_s=DEADLINE_S)
    assert told == [slow, lifted, slow, lifted]
    assert (held_back.waited_ns, held_back.throttle) == (3 * 10**9, slow)
    assert (at_once.waited_ns, at_once.throttle) == (0, None)


STREAM = StreamBounds("scripted", 1, 2, 2)


async def test_what_may_be_asked_twice_is_asked_again_after_a_lost_connection() -> None:
    asked: list[str] = []

    def drops_the_first(broker: ScriptedBroker, connection: Connection, message: Message) -> None:
        match message:
            case DescribeStreams():
                asked.append("streams")
                if len(asked) == 1:
                    connection.close("restarting")
                else:
                    connection.send(StreamsDescribed({"p": STREAM}, request=message.request))
            case WhyRequest():
                connection.close("restarting")
            case _:
                well_behaved(broker, connection, message)

    async with ScriptedBroker(drops_the_first) as broker, penstock.connect(broker.url) as client:
        assert await client.streams(deadline_s=DEADLINE_S) == {"p": STREAM}
        assert asked == ["streams", "streams"]
        with pytest.raises(penstock.Disconnected, match="before the answer came"):
            await client.why("p", deadline_s=DEADLINE_S)


async def test_only_a_broker_will_do() -> None:
    async with ScriptedBroker(well_behaved, role="client") as impostor:
        with pytest.raises(penstock.ConnectionFailed, match="not a broker"):
            await penstock.connect(impostor.url, deadline_s=0.1)
        async with (
            ScriptedBroker(well_behaved) as broker,
            penstock.connect([impostor.url, broker.url]) as client,
        ):
            assert (await client.status())["name"] == "scripted"
        assert impostor.received == []


async def test_messages_for_somebody_who_has_left_are_passed_over(broker: ScriptedBroker) -> None:
    async with penstock.connect(broker.url) as client:
        async with client.subscribe() as subscription:
            name = subscription.name
        broker.connections[0].send(Delivery(name, "p", rows(0, 5)))
        assert (await client.status())["name"] == "scripted"


async def test_a_subscription_whose_opening_is_given_up_is_ended_at_the_broker() -> None:
    def silent(broker: ScriptedBroker, connection: Connection, message: Message) -> None:
        if not isinstance(message, Subscribe):
            well_behaved(broker, connection, message)

    async with ScriptedBroker(silent) as broker, penstock.connect(broker.url) as client:
        with pytest.raises(penstock.DeadlineExceeded, match="it is not in force"):
            await client.subscribe().open(deadline_s=0.1)
        await client.status()
        assert any(isinstance(message, Unsubscribe) for message in broker.received)


async def test_a_broker_that_hangs_up_at_once_is_not_hammered() -> None:
    async with ScriptedBroker(well_behaved) as broker:
        client = await penstock.connect(broker.url, deadline_s=DEADLINE_S)
        accept = broker.on_open

        def hang_up(connection: Connection) -> None:
            accept(connection)
            connection.close("no clients today")

        broker.on_open = hang_up  # type: ignore[method-assign]
        broker.connections[0].close("no clients today")
        with pytest.raises(penstock.DeadlineExceeded, match=r"no clients today|connected to"):
            await client.publish({}, deadline_s=0.5)
        # Waits of at least 25, 50, 100, 200 and 400 ms lie between the attempts.
        assert len(broker.connections) <= 6
        broker.on_open = accept  # type: ignore[method-assign]
        await client.close()
