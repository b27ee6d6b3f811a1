"""Decides whether the gossip service may produce a history.

Gossip is probabilistic, so how many peers an event reaches is measured and not judged.  The rules,
for each peer, in terms of what its application saw:

1. *Nothing twice.*  No event is delivered to a peer that had it already, its own events included.
   A peer remembers a bounded number of events (``known_events``).  A repeat after more others than
   that is no violation; it is noted.  A peer that starts again remembers nothing.
2. *Nothing unpublished.*  Every delivered event was published before.
3. *Nothing corrupted.*  The payload is the published one.
4. *Nothing foreign.*  The event is of the peer's own group.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np

from penstock.lab.oracle.gossip.payloads import number_in
from penstock.lab.oracle.gossip.peers import (
    NOT_PUBLISHED,
    UNKNOWN_EVENT,
    PeerHistory,
    Publications,
)
from penstock.lab.oracle.judgement import Judgement, judgement_of

RULES: Final[Mapping[str, str]] = {
    "duplicated": "deliveries of an event that the peer had already",
    "unpublished": "deliveries of an event that nobody had published at that time",
    "corrupted": "deliveries of a payload that differs from the published one",
    "foreign": "deliveries of an event of another group",
}

FORGOTTEN: Final = "forgotten_repeats"
"""Repeats of an event after more others than the peer remembers."""


def judge(publications: Publications, peers: Collection[PeerHistory]) -> Judgement:
    """Apply the rules."""
    judgement = judgement_of(RULES, (FORGOTTEN,))
    groups = np.array([peer.group for peer in peers])
    publisher = np.array(publications.publisher, np.int64)
    published_at = np.array(publications.published_at, np.int64)
    for peer in peers:
        _judge_unknown(judgement, peer, len(publisher))
        _judge_repeats(judgement, peer)
        known = peer.numbers != UNKNOWN_EVENT
        numbers, since = peer.numbers[known], peer.since[known]
        never = published_at[numbers] == NOT_PUBLISHED
        early = never | (published_at[numbers] > since)
        if times := int(early.sum()):
            example = f"{peer.name} received event {numbers[early][0]} before it was published"
            judgement.count("unpublished", example, times)
        foreign = groups[publisher[numbers]] != peer.group
        if times := int(foreign.sum()):
            first = numbers[foreign][0]
            group = groups[publisher[first]]
            example = f"{peer.name} of group {peer.group} received event {first} of group {group}"
            judgement.count("foreign", example, times)
    return judgement


def _judge_unknown(judgement: Judgement, peer: PeerHistory, publications: int) -> None:
    """Payloads that nobody offered: a known publication was changed, or there never was one."""
    for payload in peer.unknown:
        number = number_in(payload)
        if number < publications:
            judgement.count("corrupted", f"{peer.name} received event {number} with other content")
        else:
            judgement.count("unpublished", f"{peer.name} received an event that nobody offered")


def _judge_repeats(judgement: Judgement, peer: PeerHistory) -> None:
    numbers, lives = peer.numbers, peer.life_of
    places = np.flatnonzero(numbers != UNKNOWN_EVENT)
    places = places[np.argsort(numbers[places], kind="stable")]
    before, after = places[:-1], places[1:]
    repeated = (numbers[before] == numbers[after]) & (lives[before] == lives[after])
    before, after = before[repeated], after[repeated]
    forgotten = after - before > peer.remembers_events
    judgement.note(FORGOTTEN, int(forgotten.sum()))
    if times := int((~forgotten).sum()):
        first = numbers[after[~forgotten][0]]
        judgement.count("duplicated", f"{peer.name} received event {first} more than once", times)
