"""What the senders and members of groups saw.

A sender records what it submitted and which outcome it was given, when it connected, and which
members its broker listed.  A member records when it joined and left, the numbers of its views, and
what it received, in order.  Both worlds write the same history.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping

import numpy as np

from penstock.core.clock import SECOND, Instant
from penstock.lab.oracle.history import Events, counted
from penstock.lab.oracle.judgement import Judgement
from penstock.lab.oracle.multicast.clients import MemberHistory, Outcome, SenderHistory
from penstock.lab.oracle.multicast.judge import judge, missing
from penstock.lab.oracle.multicast.outages import Outage


class MulticastHistory:
    """What all senders and members of one run saw."""

    def __init__(self, outages: tuple[Outage, ...] = ()) -> None:
        """In the seconds of ``outages`` brokers may have taken members for departed."""
        self.senders: dict[str, SenderHistory] = {}
        self.members: dict[str, MemberHistory] = {}
        self.outages = outages
        self.began_at: Instant = 0
        """The first instant of the scenario."""

    def add_sender(self, sender: SenderHistory) -> SenderHistory:
        self.senders[sender.name] = sender
        return sender

    def add_member(self, member: MemberHistory) -> MemberHistory:
        """A member that starts again continues its history."""
        return self.members.setdefault(member.name, member)

    @property
    def delivered(self) -> int:
        """Messages that all members received together."""
        return sum(len(each) for each in self.members.values())

    @property
    def pending(self) -> int:
        """Messages without an outcome."""
        return sum(each.unsettled for each in self.senders.values())

    def complete(self) -> bool:
        """Whether every member has what it is due."""
        return missing(self) == 0

    def judge(self) -> Judgement:
        """Apply the rules of penstock.lab.oracle.multicast.judge."""
        return judge(self)

    def events(self, metric: str) -> Mapping[str, Events]:
        """Counts of senders and of members, and the delays of what members received."""
        match metric:
            case "delivered":
                return {name: counted(each.received_at) for name, each in self.members.items()}
            case "delay_s":
                return self._delays()
            case "submitted":
                return {name: counted(each.submitted_at) for name, each in self.senders.items()}
            case "unsettled":
                return self._settled(Outcome.PENDING, "submitted_at")
            case "sent":
                return self._settled(Outcome.CONFIRMED, "sent_at")
            case "confirmed":
                return self._settled(Outcome.CONFIRMED, "settled_at")
            case "refused":
                return self._settled(Outcome.REFUSED, "settled_at")
            case "uncertain":
                return self._settled(Outcome.UNCERTAIN, "settled_at")
        raise KeyError(metric)

    def _settled(self, outcome: Outcome, when: str) -> dict[str, Events]:
        found = {}
        for name, sender in self.senders.items():
            chosen = np.frombuffer(bytes(sender.outcomes), np.uint8) == outcome
            found[name] = counted(np.array(getattr(sender, when), np.int64)[chosen])
        return found

    def _delays(self) -> dict[str, Events]:
        """Seconds from the submission of a message to its delivery."""
        by_hash = {each.source.producer_hash: each for each in self.senders.values()}
        found = {}
        for name, member in self.members.items():
            at, delays = array("q"), array("d")
            receptions = zip(member.received_at, member.producers, member.numbers, strict=True)
            for received_at, producer, number in receptions:
                sender = by_hash.get(producer)
                if sender is not None and 0 <= number < len(sender):
                    at.append(received_at)
                    delays.append((received_at - sender.submitted_at[number]) / SECOND)
            found[name] = Events(np.array(at, np.int64), np.array(delays, np.float64))
        return found

    def totals(self) -> Iterator[tuple[str, str, int]]:
        """The number of messages of each client, by outcome."""
        for name, sender in self.senders.items():
            yield name, "submitted", len(sender)
            for outcome in Outcome:
                metric = "unsettled" if outcome is Outcome.PENDING else outcome.name.lower()
                yield name, metric, sender.count(outcome)
        for name, member in self.members.items():
            yield name, "delivered", len(member)
