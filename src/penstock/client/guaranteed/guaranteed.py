"""The guaranteed service, as the application sees it: publishing, sinks, subscriptions and streams.

``Client`` is this facade with the connection around it, so ``client.publish`` and
``client.subscribe`` are the methods below.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from penstock.client.context import ClientContext
from penstock.client.errors import OutcomeUncertain, PenstockError
from penstock.client.facade import ServiceFacade
from penstock.client.guaranteed.reader import MAX_UNFINISHED, WINDOW_BYTES, ReaderOptions
from penstock.client.guaranteed.sink import KnownSinks, Sink
from penstock.client.guaranteed.start import StartWish, parse_start
from penstock.client.guaranteed.subscription import Subscription
from penstock.client.limits import check_name, check_selector
from penstock.client.publishing.driver import OnThrottle
from penstock.client.publishing.instance import new_instance
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.producer import Producer
from penstock.client.publishing.publisher import Publication, Publisher
from penstock.client.publishing.receipts import BatchReceipt, Receipt
from penstock.client.publishing.row import Attributes
from penstock.content.rows.batch import Batch, Row
from penstock.content.rows.columns import Buffer
from penstock.core.intervals import Tick
from penstock.services.guaranteed.edge.subscription import NOTHING
from penstock.services.guaranteed.messages import DescribeStreams, MoveCursor, StreamBounds
from penstock.services.guaranteed.staging.messages import ForgetSink, ListSinks

AckMode: TypeAlias = Literal["auto", "explicit"]
LossMode: TypeAlias = Literal["raise", "skip"]

ASK_AGAIN_S: Final = 0.1
"""How long to wait before asking again a broker that cannot answer yet."""


class Guaranteed(ServiceFacade):
    """Durable streams, delivered in order and once."""

    def __init__(self, context: ClientContext) -> None:
        """Publishes and subscribes over the client's session."""
        super().__init__(context)
        self._default: Publisher | None = None
        self._observer: Subscription | None = None
        self._last_subscription = 0
        self._sink_turn = asyncio.Lock()

    # -- publishing -------------------------------------------------------------------------

    async def publish(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> Receipt:
        """Publish one message and wait until it is durable."""
        return await self._publisher.publish(attributes, payload, deadline_s=deadline_s)

    def try_publish(
        self, attributes: Attributes | None = None, payload: Buffer = b""
    ) -> Publication | None:
        """Accept one message, or return None at once if too much is without a receipt.

        Awaiting the publication gives the receipt.
        """
        return self._publisher.try_publish(attributes, payload)

    async def publish_batch(
        self, rows: Batch | Iterable[Row], *, deadline_s: float | None = None
    ) -> list[BatchReceipt]:
        """Publish (attributes, payload) pairs, or a batch, and wait until all are durable."""
        return await self._publisher.publish_batch(rows, deadline_s=deadline_s)

    async def flush(self, *, deadline_s: float | None = None) -> None:
        """Wait until everything that this client accepted is durable."""
        await self._publisher.flush(deadline_s=deadline_s)

    @property
    def _publisher(self) -> Publisher:
        if self._default is None:
            self._default = self.publisher()
        return self._default

    def publisher(
        self,
        name: str | None = None,
        *,
        pubend: str = "",
        first_sequence: int | None = None,
        limits: PublishLimits | None = None,
        on_throttle: OnThrottle | None = None,
    ) -> Publisher:
        """A publisher with an order of its own, for high rates or for one particular pubend.

        A ``name`` that is used again continues the numbering of its messages.  It has one publisher
        at a time: the latest takes it over, and an earlier one that still publishes gets
        ``PublisherTakenOver``.  With ``first_sequence`` the caller numbers: a program
        that is run again and publishes the same messages under the same name and numbers has each
        of them stored once.

        ``on_throttle`` is called on the event loop with a ``ThrottleNotice`` whenever the rate that
        the pubend allows changes: how fast, since when, by which rule, and the cause.
        """
        limits = limits or self._context.options.publish
        unique = name or f"{self._context.name}/{secrets.token_hex(8)}"
        check_name("publisher", unique)
        check_name("pubend", pubend)
        producer = Producer(
            unique,
            limits,
            pubend=pubend,
            first_sequence=first_sequence,
            instance=new_instance(),
        )
        return Publisher(
            self._context.session,
            producer,
            batch_rows=limits.batch_rows,
            deadline_s=self._context.options.deadline_s,
            on_throttle=on_throttle,
        )

    def sink(self, name: str, *, pubend: str = "", once: bool = False) -> Sink:
        """Publish in numbered steps, each of which happens whole or not at all, and once.

        The broker remembers the last step of the name; without a ``pubend`` it chooses one.  A sink
        with ``once`` commits one step under a name that is never used again, and takes no place
        among those that the broker remembers.
        """
        if not name:
            raise ValueError("a sink's name is how the broker knows it again; it cannot be empty")
        check_name("sink", name)
        check_name("pubend", pubend)
        return Sink(
            self._context.ask,
            self._sink_turn,
            name,
            pubend,
            deadline_s=self._context.options.deadline_s,
            once=once,
        )

    async def sinks(self, *, deadline_s: float | None = None) -> KnownSinks:
        """The sinks that this broker remembers, the one that was unused for longest first."""
        listed = await self._context.carry_out(ListSinks(), deadline_s, "sinks")
        return KnownSinks(listed.sinks, listed.total, listed.limit)

    async def delete_sink(self, name: str, *, deadline_s: float | None = None) -> None:
        """Delete what the broker remembers of a sink; it need not exist.

        A step that its program repeats afterwards is published again.
        """
        await self._context.carry_out(ForgetSink(name), deadline_s, f"sink {name!r}")

    # -- subscribing ------------------------------------------------------------------------

    def subscribe(
        self,
        selector: str = "",
        *,
        pubends: Sequence[str] = (),
        durable: str | None = None,
        start: StartWish = "now",
        end: Mapping[str, Tick] | None = None,
        ack: AckMode = "auto",
        on_loss: LossMode = "raise",
        window_bytes: int = WINDOW_BYTES,
        max_unacknowledged: int = MAX_UNFINISHED,
    ) -> Subscription:
        """The messages whose attributes match the selector; all of them without one.

        ``durable`` names a subscription that the broker keeps: it collects while no reader is
        connected, and continues after what was acknowledged.  ``start`` is "now", "earliest", a
        datetime, or a position for each pubend; a durable subscription that exists continues where
        it stands.  With ``ack="explicit"`` a message is done when ``message.ack()`` says so.

        ``pubends`` are names or patterns with ``*`` of the streams to read.  Without any it reads
        all that clients publish to; what brokers publish of themselves (``telemetry@…``) is read
        only if it is named.

        With ``end``, a tick for each pubend, it reads those pubends up to (excluding) these ticks
        and is over then: iterating ends by itself.  It reads at the pace that the network spares.
        """
        _check_choice("ack", ack, ("auto", "explicit"))
        _check_choice("on_loss", on_loss, ("raise", "skip"))
        check_selector(selector)
        check_name("subscription", durable or "")
        _check_positive("window_bytes", window_bytes)
        _check_positive("max_unacknowledged", max_unacknowledged)
        if isinstance(pubends, str):
            raise TypeError(f"pubends is a sequence of names, not one: write pubends=[{pubends!r}]")
        if durable == "":
            raise ValueError("durable is the name of the subscription; it cannot be empty")
        if end is not None and not end:
            raise ValueError("end names no pubend: give a tick for each one that is to be read")
        self._last_subscription += 1
        options = ReaderOptions(
            durable=durable is not None,
            explicit=ack == "explicit",
            skip_losses=on_loss == "skip",
            pubends=tuple(pubends),
            window_bytes=window_bytes,
            max_unfinished=max_unacknowledged,
        )
        return Subscription(
            self._context.session,
            durable or f"{self._context.name}/{self._last_subscription}",
            selector,
            msgspec.structs.replace(parse_start(start), ends=dict(end or {})),
            options,
            deadline_s=self._context.options.deadline_s,
        )

    async def delete_subscription(self, durable: str, *, deadline_s: float | None = None) -> None:
        """Delete a durable subscription: it collects no more, and its position is forgotten."""
        subscription = self.subscribe(durable=durable)
        await subscription.close(forget=True, deadline_s=deadline_s)

    async def streams(self, *, deadline_s: float | None = None) -> dict[str, StreamBounds]:
        """All pubends that this broker knows, and what can be read of each.

        The first call subscribes to nothing, so that the broker follows the streams from then on.
        """
        if self._observer is None:
            self._observer = self.subscribe(NOTHING)
        try:
            await self._observer.open(deadline_s=deadline_s)
        except PenstockError:
            # A subscription that did not come into force is over; the next call makes another.
            self._observer = None
            raise
        give_up_at = asyncio.get_running_loop().time() + self._context.limit_s(deadline_s)
        while True:
            answer = await self._context.ask(DescribeStreams(), deadline_s)
            if not answer.problem:
                streams: dict[str, StreamBounds] = answer.streams
                return streams
            # A broker that was just started has yet to hear of the subscription and the sources.
            if asyncio.get_running_loop().time() >= give_up_at:
                raise PenstockError(answer.problem)
            await asyncio.sleep(ASK_AGAIN_S)

    async def move_cursor(
        self, cursor: str, ticks: Mapping[str, Tick], *, deadline_s: float | None = None
    ) -> dict[str, Tick]:
        """Make the logs keep everything from these ticks on; returns the cursor's positions.

        A cursor only moves forward, and holds the logs until it is moved or deleted.
        """
        return await self._move(MoveCursor(cursor, dict(ticks)), deadline_s)

    async def delete_cursor(self, cursor: str, *, deadline_s: float | None = None) -> None:
        """Delete a cursor, so that it holds no logs; it need not exist."""
        await self._move(MoveCursor(cursor, {}, forget=True), deadline_s)

    async def _move(self, question: MoveCursor, deadline_s: float | None) -> dict[str, Tick]:
        answer = await self._context.ask(question, deadline_s)
        if answer.uncertain:
            raise OutcomeUncertain(
                f"cursor {question.cursor!r} may or may not have moved: {answer.problem}"
            )
        if answer.problem:
            raise PenstockError(f"cursor {question.cursor!r} was not moved: {answer.problem}")
        ticks: dict[str, Tick] = answer.ticks
        return ticks


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r}: use one of {', '.join(map(repr, choices))}")


def _check_positive(name: str, value: int) -> None:
    if value <= 0:
        raise ValueError(f"{name}={value!r}: use a positive number")
