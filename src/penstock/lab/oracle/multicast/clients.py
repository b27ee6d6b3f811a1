"""What one sender, and one member of a group, saw."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final

from penstock.content.rows.columns import AttributeValue, Buffer
from penstock.core.clock import NEVER, Duration, Instant
from penstock.lab.workloads.message_source import MessageSource, fingerprint, identity_of

NOBODY: Final = 0
"""The producer of a message without an identity; in practice no name hashes to it."""


class Outcome(IntEnum):
    """The outcome of a message that its sender was given."""

    PENDING = 0
    CONFIRMED = 1
    REFUSED = 2
    UNCERTAIN = 3


class SenderHistory:
    """The messages of one sender and their outcomes."""

    def __init__(self, name: str, groups: tuple[str, ...], source: MessageSource) -> None:
        self.name = name
        self.groups = groups
        self.source = source
        self.submitted_at = array("q")
        self.sent_at = array("q")
        self.settled_at = array("q")
        self.outcomes = bytearray()
        self.reasons: dict[str, int] = {}
        self.connected_at = array("q")
        self.listed_at: dict[str, array[int]] = {}
        """By member: when the sender's broker listed it."""
        self.unsettled = 0

    def connected(self, now: Instant) -> None:
        """A connection began: its broker may have restarted, and know other members than before."""
        self.connected_at.append(now)

    def listed(self, members: Iterable[str], now: Instant) -> None:
        """The broker answered which members the sender's groups have."""
        for member in members:
            self.listed_at.setdefault(member, array("q")).append(now)

    def submitted(self, now: Instant) -> int:
        """Record a message; returns its number."""
        self.submitted_at.append(now)
        self.sent_at.append(0)
        self.settled_at.append(0)
        self.outcomes.append(Outcome.PENDING)
        self.unsettled += 1
        return len(self.outcomes) - 1

    def confirmed(self, number: int, waited_ns: Duration, now: Instant) -> None:
        """Every broker with members has a message, which the flow control held back so long."""
        self._settled(number, Outcome.CONFIRMED, now)
        self.sent_at[number] = min(self.submitted_at[number] + waited_ns, now)

    def failed(self, number: int, outcome: Outcome, reason: str, now: Instant) -> None:
        """A message was refused, or its outcome is unknown."""
        self._settled(number, outcome, now)
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def _settled(self, number: int, outcome: Outcome, now: Instant) -> None:
        self.outcomes[number] = outcome
        self.settled_at[number] = now
        self.unsettled -= 1

    def count(self, outcome: Outcome) -> int:
        return self.outcomes.count(outcome)

    def __len__(self) -> int:
        return len(self.outcomes)


class MemberHistory:
    """The messages that one member received, in order, and when it was in its group."""

    def __init__(self, name: str, group: str) -> None:
        self.name = name
        self.group = group
        self.joined_at = array("q")
        self.left_at = array("q")
        """``NEVER`` while it is in the group."""
        self.first_of_stay = array("q")
        """How many messages it had received when it joined."""
        self.received_at = array("q")
        self.producers = array("Q")
        self.numbers = array("q")
        self.fingerprints = array("Q")
        self.views = array("q")

    def joined(self, now: Instant) -> None:
        """The broker said that it is in the group; whatever it was in before has ended."""
        self.left(now)
        self.joined_at.append(now)
        self.left_at.append(NEVER)
        self.first_of_stay.append(len(self.numbers))

    def left(self, now: Instant) -> None:
        """It left, or lost its connection."""
        if self.left_at and self.left_at[-1] == NEVER:
            self.left_at[-1] = now

    def saw_view(self, number: int) -> None:
        """The application was given a view."""
        self.views.append(number)

    def received(
        self, attributes: Mapping[str, AttributeValue], payload: Buffer, now: Instant
    ) -> None:
        """The application was given a message."""
        producer, number = identity_of(payload) or (NOBODY, -1)
        self.received_at.append(now)
        self.producers.append(producer)
        self.numbers.append(number)
        self.fingerprints.append(fingerprint(attributes, payload))

    def __len__(self) -> int:
        return len(self.numbers)
