"""Decides whether the multicast service may produce a history.

The rules, for each member, in terms of what the applications saw:

1. *Nothing lost.*  A member that stays receives every message that it is due; ``due`` says which.
2. *Nothing twice.*  A member that stays receives no message twice.
3. *In order.*  A member that stays receives the messages of a sender in the order of submission.
4. *Nothing else.*  No message is received that was never sent, was refused, or was not for the
   member's group (``unwanted``), or whose content differs from what was sent (``corrupted``).
5. *Views follow each other.*  The numbers of a member's views grow by one; they may jump only where
   it has joined again.

A sender whose broker crashed sends again what has no receipt, and a member that has joined again
since may have received it in an earlier stay.  Such repetitions are noted (``repeated``), and what
was submitted before a later stay may come twice or out of order in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import isinf
from typing import TYPE_CHECKING, Final

import numpy as np

from penstock.core.clock import NEVER, Instant, seconds
from penstock.lab.oracle.history import Instants
from penstock.lab.oracle.judgement import Judgement, judgement_of
from penstock.lab.oracle.multicast.clients import MemberHistory, Outcome, SenderHistory
from penstock.lab.oracle.multicast.due import Stay, Submissions, stays_of
from penstock.lab.workloads.message_source import fingerprint

if TYPE_CHECKING:
    from penstock.lab.oracle.multicast.history import MulticastHistory

RULES: Final = ("lost", "duplicated", "out_of_order", "unwanted", "corrupted", "view_gaps")
REPEATED: Final = "repeated"
"""Messages received in two stays, which breaks no rule."""


def judge(history: MulticastHistory) -> Judgement:
    """Apply the rules to a history."""
    judgement = judgement_of(RULES, (REPEATED,))
    senders = {each.source.producer_hash: each for each in history.senders.values()}
    contents = {each.name: _Contents(each) for each in history.senders.values()}
    for member in history.members.values():
        _judge_views(member, judgement)
        _judge_contents(member, senders, contents, judgement)
        for sender in history.senders.values():
            _judge_sequence(member, sender, judgement)
    for member, sender, lost in _losses(history):
        for number in lost.tolist():
            example = f"{member.name} never received {_name(sender, number)}"
            judgement.count("lost", example)
    return judgement


def missing(history: MulticastHistory) -> int:
    """The number of messages that members are due and have not received."""
    return sum(len(lost) for _, _, lost in _losses(history))


# -- what is missing -------------------------------------------------------------------------------


def _losses(
    history: MulticastHistory,
) -> list[tuple[MemberHistory, SenderHistory, Instants]]:
    """The numbers of the messages that each member lacks of each sender to its group."""
    divided = [
        (_instant(history, each.from_s), _instant(history, each.to_s)) for each in history.outages
    ]
    sent = {each.name: Submissions(each, divided) for each in history.senders.values()}
    by_hash = {each.source.producer_hash: sent[each.name] for each in history.senders.values()}
    found = []
    for member in history.members.values():
        covered = _covered(member, by_hash)
        for sender in history.senders.values():
            if member.group not in sender.groups or not len(sender):
                continue
            received = _numbers(member, sender)
            due = np.zeros(len(sender), np.bool_)
            for stay, until in covered:
                places = (received[0] >= stay.first) & (received[0] < stay.end)
                due |= sent[sender.name].due(member, stay, received[1][places], until)
            due[received[1]] = False
            found.append((member, sender, np.flatnonzero(due)))
    return found


def _instant(history: MulticastHistory, at_s: float) -> Instant:
    return NEVER if isinf(at_s) else history.began_at + seconds(at_s)


def _numbers(member: MemberHistory, sender: SenderHistory) -> tuple[Instants, Instants]:
    """Places and numbers of the messages of one sender that a member received."""
    numbers: Instants = np.array(member.numbers, np.int64)
    of_sender = np.array(member.producers, np.uint64) == sender.source.producer_hash
    places = np.flatnonzero(of_sender & (numbers >= 0) & (numbers < len(sender)))
    return places, numbers[places]


def _covered(member: MemberHistory, by_hash: Mapping[int, Submissions]) -> list[tuple[Stay, int]]:
    """Each stay of a member, with the latest submission of a message received in it."""
    submitted = np.zeros(len(member), np.int64)
    for submissions in by_hash.values():
        places, numbers = _numbers(member, submissions.sender)
        submitted[places] = submissions.submitted_at[numbers]
    return [
        (stay, int(submitted[stay.first : stay.end].max(initial=0))) for stay in stays_of(member)
    ]


# -- what was received -----------------------------------------------------------------------------


class _Contents:
    """The fingerprints of a sender's messages, computed once for all members."""

    def __init__(self, sender: SenderHistory) -> None:
        self._sender = sender
        self._known: dict[int, int] = {}

    def __getitem__(self, number: int) -> int:
        found = self._known.get(number)
        if found is None:
            found = self._known[number] = fingerprint(*self._sender.source.row(number))
        return found


def _judge_contents(
    member: MemberHistory,
    senders: Mapping[int, SenderHistory],
    contents: Mapping[str, _Contents],
    judgement: Judgement,
) -> None:
    receptions = zip(member.producers, member.numbers, member.fingerprints, strict=True)
    first = member.first_of_stay[0] if member.first_of_stay else len(member)
    for place, (producer, number, found) in enumerate(receptions):
        sender = senders.get(producer)
        if sender is None or not 0 <= number < len(sender):
            judgement.count("unwanted", f"{member.name} received a message that nobody sent")
            continue
        what = f"{member.name} received {_name(sender, number)}"
        if place < first:
            judgement.count("unwanted", f"{what} before it had joined")
        elif member.group not in sender.groups:
            judgement.count("unwanted", f"{what}, which was for {', '.join(sender.groups)}")
        elif sender.outcomes[number] == Outcome.REFUSED:
            judgement.count("unwanted", f"{what}, which was refused")
        elif found != contents[sender.name][number]:
            judgement.count("corrupted", f"{what} with other content")


def _judge_sequence(member: MemberHistory, sender: SenderHistory, judgement: Judgement) -> None:
    """Within each stay the numbers of a sender ascend."""
    places, numbers = _numbers(member, sender)
    for place, stay in enumerate(stays_of(member)):
        of_stay = numbers[(places >= stay.first) & (places < stay.end)]
        judgement.note(REPEATED, int(np.isin(of_stay, numbers[places < stay.first]).sum()))
        if (np.diff(of_stay) > 0).all():
            continue
        seen: set[int] = set()
        highest = -1
        for number in of_stay.tolist():
            excused = place > 0 and sender.submitted_at[number] < stay.joined_at
            what = f"{member.name} received {_name(sender, number)}"
            if number in seen and not excused:
                judgement.count("duplicated", f"{what} twice")
            elif number < highest and not excused:
                judgement.count("out_of_order", f"{what} after {highest}")
            seen.add(number)
            highest = max(highest, number)


def _judge_views(member: MemberHistory, judgement: Judgement) -> None:
    gaps = [(one, other) for one, other in pairwise(member.views) if other != one + 1]
    allowed = max(0, len(member.joined_at) - 1)
    if len(gaps) > allowed:
        shown = ", ".join(f"view {other} after {one}" for one, other in gaps[:3])
        example = f"{member.name} joined {len(member.joined_at)} times and saw {shown}"
        judgement.count("view_gaps", example, len(gaps) - allowed)


def _name(sender: SenderHistory, number: int) -> str:
    return f"message {number} of {sender.name}"
