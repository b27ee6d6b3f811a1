"""Senders and members of a simulated run: the real client protocol at a modelled pace.

penstock.client's own ``GroupProducer`` and ``GroupReader`` do all the communication with a broker.
Both machines record the history that their application saw.
"""

from __future__ import annotations

from collections.abc import Collection
from random import Random
from typing import Any, Final

import msgspec

from penstock.client.errors import PenstockError, PublishRefusedError
from penstock.client.groups.producer import GroupProducer
from penstock.client.groups.reader import GroupReader
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.parcel import Parcel
from penstock.core.clock import SECOND, Duration, Instant, earliest
from penstock.core.machine import Effect, Fact, LinkDown, LinkUp, Priority, Received, Send
from penstock.core.message import Message
from penstock.lab.oracle.multicast.clients import MemberHistory, Outcome, SenderHistory
from penstock.lab.workloads.multicast.tables import GroupMember, GroupSender
from penstock.lab.workloads.pace import Pace, PacedSlots
from penstock.services.multicast.messages import AskGroups, GroupsAnswer, SendToGroups

BROKER: Final = "broker"
"""A client's name for its only link."""

UNLIMITED_BYTES: Final = 1 << 40
"""A modelled client sends everything to its link at once; the link's own queue is the bound."""

ASK_EVERY_NS: Final[Duration] = SECOND // 20
"""How often a sender asks for members that are not known yet."""

WAIT_FOR_MEMBERS_NS: Final[Duration] = 10 * SECOND
"""After this time a sender begins without them: a fault may keep them away for long."""

JOIN_AGAIN_NS: Final[Duration] = SECOND // 10
"""Pause before a member whose join was refused asks again."""


class SimGroupSender:
    """A machine that sends at its pace and records the outcomes."""

    def __init__(
        self,
        history: SenderHistory,
        client: GroupSender,
        pace: Pace,
        random: Random,
        awaited: Collection[str],
    ) -> None:
        """It does not send before its broker knows the ``awaited`` members."""
        self.history = history
        self.producer = GroupProducer(
            client.name,
            PublishLimits(linger_ns=0),
            groups=client.groups,
            must_exist=client.must_exist,
            weight=client.weight,
        )
        self._pace = pace
        self._slots = PacedSlots(pace, random)
        self._numbers: dict[Parcel, int] = {}
        self._awaited = awaited
        self._begins_at = pace.start_at + WAIT_FOR_MEMBERS_NS
        self._began = False
        self._ask_at: Instant | None = None
        self._known: set[str] = set()
        self._asked: dict[int, str] = {}
        self._requests = 0
        self._heard_at: Instant = 0

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Process one fact and return what must be sent because of it."""
        self._heard_at = now
        match fact:
            case LinkUp():
                self.producer.connected()
                self.history.connected(now)
                self._ask_at = now
            case LinkDown():
                self.producer.disconnected()
                self._ask_at = None
                self._asked.clear()
            case Received(message=GroupsAnswer() as answer):
                self._answered(answer, now)
            case Received(message=message):
                self.producer.received(message)
        self._settle(now)
        self._began = self._began or now >= self._begins_at
        if self._began:
            self._submit(now)
        out = self._questions(now)
        for message in self.producer.outgoing(now, UNLIMITED_BYTES):
            is_data = isinstance(message, SendToGroups)
            out.append(Send(BROKER, message, Priority.DATA if is_data else Priority.CONTROL))
        return out

    # -- members ----------------------------------------------------------------------------

    def _questions(self, now: Instant) -> list[Effect]:
        """Ask for the members of every group, after each connection and until all are known."""
        if self._ask_at is None or now < self._ask_at:
            return []
        self._ask_at = None
        self._known.clear()
        for group in self.history.groups:
            self._requests += 1
            self._asked[self._requests] = group
        return [
            Send(BROKER, AskGroups(group, request=number), Priority.CONTROL)
            for number, group in self._asked.items()
        ]

    def _answered(self, answer: GroupsAnswer, now: Instant) -> None:
        group = self._asked.pop(answer.request, None)
        if group is None:
            return
        members = listed_members(msgspec.json.decode(answer.document), group)
        self.history.listed(members, now)
        self._known |= members
        if self._asked or self._began:
            return
        if self._known.issuperset(self._awaited):
            self._began = True
        else:
            self._ask_at = now + ASK_EVERY_NS

    # -- sending ----------------------------------------------------------------------------

    @property
    def _finished(self) -> bool:
        limit = self._pace.messages
        return bool(limit) and len(self.history) >= limit

    @property
    def _blocked(self) -> bool:
        return self.history.unsettled >= self._pace.max_in_flight or not self.producer.has_room

    def _submit(self, now: Instant) -> None:
        pace, slots = self._pace, self._slots
        while slots.next_at <= now and now < pace.stop_at and not self._finished:
            if not self._blocked:
                number = self.history.submitted(now)
                parcel = self.producer.add_batch(self.history.source.batch(number, 1))
                assert parcel is not None, "the producer reported free window space"
                self._numbers[parcel] = number
            elif not pace.has_rate:
                return
            slots.advance()

    def _settle(self, now: Instant) -> None:
        for parcel in self.producer.take_settled():
            record_outcome(self.history, self._numbers.pop(parcel), parcel, now)

    def next_deadline(self) -> Instant | None:
        """When the next message is due; a sender without a rate is woken by receipts."""
        if not self._began:
            return earliest(self._ask_at, self._begins_at)
        slot: Instant | None = self._slots.next_at
        if not self._heard_at < self._slots.next_at < self._pace.stop_at or self._finished:
            slot = None
        return earliest(slot, self._ask_at, self.producer.next_deadline())

    def check_invariants(self) -> None:
        self.producer.check_invariants()


def listed_members(answer: dict[str, list[str]], group: str) -> set[str]:
    """The names of a group's members in an answer that lists them as ``name@broker``."""
    return {each.rpartition("@")[0] for each in answer.get(group, ())}


def record_outcome(history: SenderHistory, number: int, parcel: Parcel, now: Instant) -> None:
    """Record the outcome of a parcel that holds one message."""
    try:
        (receipt,) = parcel.receipts()
    except PublishRefusedError as error:
        history.failed(number, Outcome.REFUSED, error.reason, now)
    except PenstockError as error:
        history.failed(number, Outcome.UNCERTAIN, str(error), now)
    else:
        history.confirmed(number, receipt.waited_ns, now)


class SimGroupMember:
    """A machine that reads at its pace and records what it receives."""

    def __init__(self, history: MemberHistory, client: GroupMember) -> None:
        self.history = history
        self._client = client
        self.reader = self._new_reader()
        self._connected = False
        self._join_at: Instant | None = None
        self._gap_ns = SECOND / client.read_msgs_per_s if client.read_msgs_per_s else 0.0
        self._free_at: Instant = 0
        self._heard_at: Instant = 0

    def _new_reader(self) -> GroupReader:
        client = self._client
        return GroupReader(client.name, client.group, client.window_bytes)

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Process one fact and return what must be sent because of it."""
        self._heard_at = now
        match fact:
            case LinkUp():
                self._connected = True
                self._join_again() if self.reader.is_over else self.reader.connected()
            case LinkDown():
                self._connected = False
                self.reader.disconnected()
                self.history.left(now)
            case Received(message=message):
                self._received(message, now)
        if self._join_at is not None and now >= self._join_at:
            self._join_again()
        self._read(now)
        out: list[Message] = self.reader.outgoing(now)
        return [Send(BROKER, message, Priority.CONTROL) for message in out]

    def _received(self, message: Any, now: Instant) -> None:
        reader = self.reader
        joins = reader.joins
        reader.received(message)
        if reader.joins != joins:
            self.history.joined(now)
        while reader.views:
            self.history.saw_view(reader.views.popleft().view)
        if reader.is_over:
            # The broker still knows the session before this one.
            self._join_at = now + JOIN_AGAIN_NS

    def _join_again(self) -> None:
        self._join_at = None
        self.reader = self._new_reader()
        if self._connected:
            self.reader.connected()

    def _read(self, now: Instant) -> None:
        while now >= self._free_at and self.reader.deliveries:
            batch = self.reader.take().batch
            rows = zip(batch.attribute_rows(), batch.payload_rows(), strict=True)
            for attributes, payload in rows:
                self.history.received(attributes, payload, now)
            self._free_at = now + round(self._gap_ns * len(batch))

    def next_deadline(self) -> Instant | None:
        """When it reads on, or joins again."""
        reading = self._free_at if self._free_at > self._heard_at else None
        return earliest(reading, self._join_at)

    def check_invariants(self) -> None:
        """Nothing to check: the resulting history is judged instead."""
