"""Which messages a member must have received from a sender, judging by what both saw.

A message goes to the members that its sender's broker knows when it sends the message, so a member
is due a message if

1. the sender was given a receipt for it;
2. the member was in the group, without leaving or losing its connection, from before the message
   was submitted until it would have received it: its stay has not ended, or it received a message
   in the same stay that was submitted after the receipt (a session delivers in order);
3. the sender's broker had shown before that it knew the member: it listed the member, or the member
   had received an earlier message of this sender.  It may have forgotten the member since if the
   sender connected again, or if the overlay was divided for long; and a member that joined again
   may still be listed from its earlier stay for ``SPREAD_NS``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.core.clock import NEVER, SECOND, Duration, Instant
from penstock.lab.oracle.history import Instants
from penstock.lab.oracle.multicast.clients import MemberHistory, Outcome, SenderHistory

Flags = npt.NDArray[np.bool_]

SPREAD_NS: Final[Duration] = 2 * SECOND
"""More than a change of membership takes to reach every broker that can be reached."""


class Stay(NamedTuple):
    """One membership, from a join to the end."""

    joined_at: Instant
    known_from: Instant
    """From then on a broker that knows the member knows this membership, and no earlier one."""
    first: int
    end: int
    """The messages received in it, as places in the member's history."""
    is_open: bool


def stays_of(member: MemberHistory) -> Iterator[Stay]:
    """The memberships of a member, in order."""
    ends = [*member.first_of_stay, len(member)][1:]
    stays = zip(member.joined_at, member.left_at, member.first_of_stay, ends, strict=True)
    for place, (joined_at, left_at, first, end) in enumerate(stays):
        known_from = joined_at + SPREAD_NS if place else joined_at
        yield Stay(joined_at, known_from, first, end, left_at == NEVER)


class Submissions:
    """The messages of one sender as arrays."""

    def __init__(self, sender: SenderHistory, divided: Sequence[tuple[Instant, Instant]]) -> None:
        """``divided`` are the times in which members may have counted as departed."""
        self.sender = sender
        self.submitted_at: Instants = np.array(sender.submitted_at, np.int64)
        self.settled_at: Instants = np.array(sender.settled_at, np.int64)
        breaks = sorted([*sender.connected_at, *(at for each in divided for at in each)])
        self._breaks: Instants = np.array(breaks, np.int64)
        outcomes = np.frombuffer(bytes(sender.outcomes), np.uint8)
        self.epochs = self.epoch(self.submitted_at)
        same = self.epochs == self.epoch(self.settled_at)
        self._undivided: Flags = (outcomes == Outcome.CONFIRMED) & same
        for low, high in divided:
            self._undivided &= (self.settled_at < low) | (self.submitted_at > high)

    def epoch(self, instants: Instants) -> npt.NDArray[np.int64]:
        """A number that grows whenever the sender's broker may have forgotten members."""
        return np.searchsorted(self._breaks, instants, "right")

    def due(self, member: MemberHistory, stay: Stay, numbers: Instants, covered: Instant) -> Flags:
        """The messages that must have been received in one stay.

        ``numbers`` are those that were received in it, and ``covered`` is the latest submission of
        a message of any sender that was.
        """
        until = NEVER if stay.is_open else covered
        within = (self.submitted_at >= stay.joined_at) & (self.settled_at <= until)
        required = self._undivided & within
        if not required.any():
            return required
        known = np.zeros(len(self.epochs), np.bool_)
        for epoch in np.unique(self.epochs[required]).tolist():
            inside = self.epochs == epoch
            shown = numbers[inside[numbers] & (self.submitted_at[numbers] >= stay.known_from)]
            if len(shown):
                known[int(shown.min()) :] |= inside[int(shown.min()) :]
            listed = np.array(self.sender.listed_at.get(member.name, ()), np.int64)
            listed = listed[(listed >= stay.known_from) & (self.epoch(listed) == epoch)]
            if len(listed):
                known |= inside & (self.submitted_at >= listed.min())
        return required & known
