"""The publishing half of the client's protocol, without input or output.

1. Rows gather in a parcel.  It is sealed when it is full, when few batches are in flight (a
   producer that is not busy sends at once), or when its first row has waited for ``linger_ns`` (a
   busy one fills batches).  The more batches are in flight, the larger is the next.
2. A shipment gets its sequence numbers when it is first sent, and keeps them.  The numbers begin
   at the pubend's ``next_sequence``, or where the caller says.
3. Until its receipt comes a shipment is in flight.  After a reconnection everything in flight is
   sent again, in order and under the same numbers; the pubend stores each number once.  What it
   stored before, it confirms without a tick.
4. ``ProducerOpened.next_sequence`` is not taken for a receipt: a refusal leaves a hole below it,
   and rows that it counts may still be on their way to the disk.
5. A broker that does not host the pubend of what is in flight cannot tell what became of it:
   those rows end as ``PublishUncertain``.  What was never sent goes to another pubend instead.
6. A name has one publisher at a time.  One that was replaced by a later one is told: what it has in
   flight ends as ``PublishUncertain``, and everything else is refused.
7. At most ``window_bytes`` (and one parcel) are held; beyond, ``add`` refuses to take more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from penstock.client.errors import (
    Disconnected,
    PenstockError,
    ProtocolViolation,
    PublisherTakenOver,
    PublishRefusedError,
    PublishUncertain,
)
from penstock.client.life_cycle import PRODUCER, ProducerEvent, ProducerPhase
from penstock.client.publishing.limits import BUSY_BATCHES, PublishLimits
from penstock.client.publishing.parcel import NO_ROWS, Parcel, Shipment, ship_batch, ship_rows
from penstock.client.publishing.receipts import BatchReceipt
from penstock.client.publishing.row import Attributes, as_bytes, as_dict
from penstock.content.rows.batch import Batch
from penstock.content.rows.columns import AttributeValue, Buffer
from penstock.content.rows.row_buffer import PlainRowBuffer, new_row_buffer
from penstock.core.clock import Instant
from penstock.core.machine import InvariantBroken
from penstock.core.message import Message
from penstock.services.guaranteed.messages import (
    CloseProducer,
    OpenProducer,
    ProducerOpened,
    ProducerRefused,
    Publish,
    PublishReceipt,
    PublishRefused,
    ThrottleNotice,
)


class Producer:
    """One numbered sequence of rows for one pubend."""

    def __init__(
        self,
        name: str,
        limits: PublishLimits,
        *,
        pubend: str = "",
        first_sequence: int | None = None,
        instance: int = 0,
    ) -> None:
        """Without ``pubend`` the broker chooses; with ``first_sequence`` the caller numbers.

        ``instance`` is a random number that tells publishers of one name apart.
        """
        self.name = name
        self.instance = instance
        self.pubend = pubend
        self.phase = ProducerPhase.AWAY
        self.refusal: PublishRefusedError | None = None
        self.wants_room = False
        """Whether ``outgoing`` left something behind for lack of room."""
        self.throttle: ThrottleNotice | None = None
        """How fast the pubend may be published to at present, and why."""
        self._last_throttle: ThrottleNotice | None = None
        self._limits = limits
        self._window_bytes = limits.window_bytes
        self._pinned = bool(pubend)
        self._opened_at: str | None = None
        self._gave_up_in_flight = False
        self._numbered_by_caller = first_sequence is not None
        self._next_sequence = first_sequence or 0
        self._ready: deque[Shipment] = deque()
        self._in_flight: dict[int, Shipment] = {}
        self._resend: deque[Shipment] = deque()
        self._held_bytes = 0
        self._linger_until: Instant | None = None
        self._urgent = False
        self._wanted = False
        self._settled: list[Parcel] = []
        self._begin(limits.batch_rows)

    # -- the application's side -------------------------------------------------------------

    def add(self, attributes: Attributes | None, payload: Buffer) -> Parcel | None:
        """Take one row; it is the last one of the parcel returned.  None if there is no room.

        The row is copied, so the caller may go on to use its dictionary and its buffer.
        """
        if self._held_bytes >= self._window_bytes:
            return None
        weight = self._offer(attributes, payload)
        if not weight:
            weight = self._add_slowly(as_dict(attributes), as_bytes(payload))
        self._held_bytes += weight
        return self._filling

    def _begin(self, full_rows: int) -> None:
        """A new parcel is filled."""
        rows = new_row_buffer(full_rows, self._limits.batch_bytes)
        self._filling = Parcel(rows)
        self._offer = rows.offer

    def _add_slowly(self, attributes: dict[str, AttributeValue], payload: bytes) -> int:
        """Take a row that the parcel did not: it is full, or the row has to be alone."""
        weight = self._offer(attributes, payload)
        if weight:
            return weight
        self._seal()
        weight = self._offer(attributes, payload)
        if weight:
            return weight
        rows = PlainRowBuffer(1, 0)
        self._filling = Parcel(rows)
        self._offer = rows.offer
        return rows.put(attributes, payload)

    def add_batch(self, batch: Batch) -> Parcel | None:
        """Take rows that are columns already, behind those that were added before."""
        if self._held_bytes >= self._window_bytes:
            return None
        self._seal()
        parcel = Parcel(NO_ROWS)
        self._queue(parcel, ship_batch(parcel, batch, self._limits))
        return parcel

    def flush(self) -> None:
        """Send what there is without waiting for more rows."""
        self._urgent = bool(self._filling.rows)

    def want(self) -> None:
        """Open at the broker even if there is nothing to publish yet."""
        self._wanted = True

    @property
    def has_room(self) -> bool:
        """Whether ``add`` takes another row."""
        return self._held_bytes < self._window_bytes

    @property
    def is_full(self) -> bool:
        """Whether the parcel that is being filled should go out now."""
        return self._filling.rows.is_full

    @property
    def held_bytes(self) -> int:
        """Bytes that have no receipt yet."""
        return self._held_bytes

    @property
    def next_sequence(self) -> int:
        """The number that the next row to be sent gets; known once the producer is open."""
        return self._next_sequence

    @property
    def has_batches_to_send(self) -> bool:
        """Whether full batches wait for the connection."""
        return bool(self._ready)

    def unsettled(self) -> list[Parcel]:
        """The parcels some of whose rows have no outcome yet, in order."""
        shipments = [*self._in_flight.values(), *self._ready]
        parcels = list(dict.fromkeys(shipment.parcel for shipment in shipments))
        return [*parcels, self._filling] if self._filling.rows else parcels

    # -- the connection's side --------------------------------------------------------------

    def connected(self) -> None:
        """A connection begins, perhaps with another broker, to which nothing was sent yet."""
        self._happens(ProducerEvent.CONNECTED)
        self._gave_up_in_flight = False

    def disconnected(self) -> None:
        """The connection has ended; what was in flight may be stored or not."""
        self._happens(ProducerEvent.DISCONNECTED)
        self.throttle = None
        self._resend.clear()
        self._linger_until = None

    def outgoing(self, now: Instant, room_bytes: int) -> list[Message]:
        """What to send now, in order, as long as there is room on the connection."""
        self.wants_room = room_bytes <= 0
        if self.wants_room:
            # Asking again by time would not help: there is no room.
            self._linger_until = None
            return []
        if self.phase is ProducerPhase.UNOPENED and self._has_work:
            self._happens(ProducerEvent.REQUESTED)
            resumes = self._opened_at == self.pubend
            return [OpenProducer(self.name, self.pubend, self.instance, resumes)]
        if self.phase is not ProducerPhase.OPEN:
            return []
        out: list[Message] = []
        while self._resend and room_bytes > 0:
            room_bytes -= self._send(self._resend.popleft(), out)
        if self._filling.rows and self._due(now):
            self._seal()
        while self._ready and room_bytes > 0:
            shipment = self._ready.popleft()
            shipment.first_sequence = self._next_sequence
            self._next_sequence += len(shipment.batch)
            self._in_flight[shipment.first_sequence] = shipment
            room_bytes -= self._send(shipment, out)
        self.wants_room = bool(self._resend or self._ready)
        return out

    def _send(self, shipment: Shipment, out: list[Message]) -> int:
        out.append(Publish(self.name, shipment.first_sequence, shipment.batch))
        return shipment.weight

    def next_deadline(self) -> Instant | None:
        """When a row has waited for more rows long enough."""
        return self._linger_until if self._filling.rows else None

    def received(
        self, message: ProducerOpened | ProducerRefused | PublishReceipt | PublishRefused
    ) -> None:
        """The broker's answer; raises ``ProtocolViolation`` if it answers nothing."""
        match message:
            case PublishReceipt():
                shipment = self._answered(message.first_sequence, message.count)
                if shipment is not None:
                    self._settle(shipment, self._receipt(message))
            case PublishRefused(first_sequence=first, count=count, reason=reason):
                shipment = self._answered(first, count)
                if shipment is not None:
                    error = PublishUncertain if message.uncertain else PublishRefusedError
                    self._settle(shipment, error(self.pubend, first, count, reason))
            case ProducerOpened():
                self._opened(message)
            case ProducerRefused(reason=reason, taken_over=True):
                self._replaced(reason)
            case ProducerRefused(reason=reason):
                self._refused(reason)

    def _receipt(self, message: PublishReceipt) -> BatchReceipt:
        waited_ns = message.waited_ns
        return BatchReceipt(
            self.pubend,
            message.first_tick or None,
            message.first_sequence,
            message.count,
            waited_ns,
            self._last_throttle if waited_ns else None,
        )

    def throttled(self, notice: ThrottleNotice) -> bool:
        """Note the rate that the pubend allows; False if the notice is about another pubend."""
        if notice.pubend != self.pubend:
            return False
        limited = notice.allowed_msgs_per_s > 0
        self.throttle = notice if limited else None
        # What waited may be confirmed after the limit was lifted; its cause is still the last one.
        self._last_throttle = notice if limited else self._last_throttle
        return True

    def take_settled(self) -> list[Parcel]:
        """The parcels that settled since this was last asked."""
        settled, self._settled = self._settled, []
        return settled

    def close(self, reason: str) -> None:
        """Accept and send no more; every row without an outcome gets one."""
        self._abandon_in_flight(reason)
        self._abandon_unsent(Disconnected(f"not published: {reason}"))
        self._happens(ProducerEvent.CLOSED)
        self._window_bytes = 0

    def farewell(self) -> list[Message]:
        """What to say when nothing more will be published, so that the broker forgets it."""
        return [CloseProducer(self.name)] if self.phase is ProducerPhase.OPEN else []

    def check_invariants(self) -> None:
        """The bytes held are those of the rows held, and numbers ascend without overlap."""
        weight = sum(shipment.weight for shipment in [*self._in_flight.values(), *self._ready])
        if self._held_bytes != weight + self._filling.rows.weight:
            raise InvariantBroken(f"producer {self.name}: {self._held_bytes} bytes are held")
        at = 0
        for first, shipment in self._in_flight.items():
            if first != shipment.first_sequence or first < at:
                raise InvariantBroken(f"producer {self.name}: {first} is numbered after {at}")
            at = first + len(shipment.batch)
        if at > self._next_sequence:
            raise InvariantBroken(f"producer {self.name}: {at} is beyond {self._next_sequence}")

    # -- inside -----------------------------------------------------------------------------

    def _happens(self, event: ProducerEvent) -> None:
        self.phase = PRODUCER.after(self.phase, event)

    @property
    def _has_work(self) -> bool:
        return bool(self._wanted or self._filling.rows or self._ready or self._in_flight)

    def _due(self, now: Instant) -> bool:
        idle = not self._ready and len(self._in_flight) < BUSY_BATCHES
        if idle or self._urgent or self.is_full or self._limits.linger_ns == 0:
            return True
        if self._linger_until is None:
            self._linger_until = now + self._limits.linger_ns
        return now >= self._linger_until

    def _seal(self) -> None:
        parcel = self._filling
        self._linger_until = None
        self._urgent = False
        if not parcel.rows:
            return
        self._held_bytes -= parcel.rows.weight
        self._queue(parcel, ship_rows(parcel, self._limits))
        self._begin(self._limits.rows_at(len(self._in_flight) + len(self._ready)))

    def _queue(self, parcel: Parcel, shipments: Iterable[Shipment]) -> None:
        for shipment in shipments:
            self._held_bytes += shipment.weight
            self._ready.append(shipment)
        if parcel.settled:
            self._settled.append(parcel)

    def _opened(self, message: ProducerOpened) -> None:
        if self.pubend and message.pubend != self.pubend:
            raise ProtocolViolation(
                f"producer {self.name!r} asked for pubend {self.pubend!r} "
                f"and was given {message.pubend!r}"
            )
        self.pubend = message.pubend
        self._opened_at = message.pubend
        self._happens(ProducerEvent.OPENED)
        self.refusal = None
        if not self._numbered_by_caller:
            self._next_sequence = max(self._next_sequence, message.next_sequence)
        self._resend = deque(self._in_flight.values())

    def _refused(self, reason: str) -> None:
        self._happens(ProducerEvent.REFUSED)
        self._abandon_in_flight(reason)
        if self.pubend and not self._pinned:
            self.pubend = ""
            return
        self._give_up(PublishRefusedError(self.pubend, -1, self._unsent_rows, reason))

    def _replaced(self, reason: str) -> None:
        """Another publisher has the name.  Trying again is refused again."""
        self._happens(ProducerEvent.REFUSED)
        self._abandon_in_flight(reason)
        self._give_up(PublisherTakenOver(self.pubend, -1, self._unsent_rows, reason))

    def _give_up(self, refusal: PublishRefusedError) -> None:
        self._wanted = False
        self.refusal = refusal
        self._abandon_unsent(refusal)

    def _answered(self, first_sequence: int, count: int) -> Shipment | None:
        """What the broker answers; None if it was given up before the answer came."""
        shipment = self._in_flight.get(first_sequence)
        if shipment is None and self._gave_up_in_flight:
            return None
        if shipment is None or len(shipment.batch) != count:
            raise ProtocolViolation(
                f"producer {self.name!r}: the broker answered {count} rows from sequence "
                f"{first_sequence}, which were not sent so"
            )
        del self._in_flight[first_sequence]
        return shipment

    def _settle(self, shipment: Shipment, outcome: BatchReceipt | PenstockError) -> None:
        self._held_bytes -= shipment.weight
        if shipment.settle(outcome):
            self._settled.append(shipment.parcel)

    def _abandon_in_flight(self, reason: str) -> None:
        in_flight, self._in_flight = self._in_flight, {}
        self._gave_up_in_flight = self._gave_up_in_flight or bool(in_flight)
        self._resend.clear()
        for first, shipment in in_flight.items():
            error = PublishUncertain(self.pubend, first, len(shipment.batch), reason)
            self._settle(shipment, error)

    def _abandon_unsent(self, error: PenstockError) -> None:
        self._seal()
        ready, self._ready = self._ready, deque()
        for shipment in ready:
            self._settle(shipment, error)

    @property
    def _unsent_rows(self) -> int:
        return len(self._filling.rows) + sum(len(shipment.batch) for shipment in self._ready)
