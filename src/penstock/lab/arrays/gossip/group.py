"""A gossip group of a hundred thousand peers, as arrays.

The machines (services/gossip) are the protocol; this is the same protocol written as operations on
arrays with one row for each peer, with the same policy functions, for groups that are too large to
simulate one by one.  Its simplifications:

1. A round is divided into ``PHASES`` steps; the peers of a step gossip together, and their gossip
   arrives before the next step.  The machines' phases are spread evenly.
2. Targets are drawn from the whole group: partial views are close to uniform samples.
3. All buffers have the same size, so would-be drops are drops.
4. A peer's drops of one step enter the moving average as their mean.

One table holds, for each peer and each event in flight, 0 or the event's age + 1; another holds
whether the peer has seen the event.  A column is reused when its event has been dropped everywhere.
docs/papers/adaptive-gossip.md shows how close both come at 60 peers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from penstock.core.clock import Instant
from penstock.core.trace import TraceRecord
from penstock.lab.arrays.gossip.estimates import GroupSizes
from penstock.lab.arrays.gossip.event_table import EventTable
from penstock.lab.arrays.gossip.history import ArrayHistory
from penstock.lab.arrays.gossip.laws import Floats, GroupMeasures, Integers, array_law
from penstock.lab.arrays.gossip.settings import GroupSettings
from penstock.lab.workloads.gossip.program import BLOCKED_AT
from penstock.services.gossip.laws.averages import initial_average_age, moving_average
from penstock.services.gossip.laws.improved_rate import COPIES_WEIGHT, USED_WEIGHT
from penstock.services.gossip.telemetry import (
    ALLOWED,
    DROPPED,
    DROPPED_AGES,
    GROUP_SIZE,
    ROUNDS,
)

PHASES: Final = 24
"""More steps make no measurable difference.  With 8, an event rests at least an eighth of a round
at each hop, and ages at drops are 6 % too low."""

SETTLE_ROUNDS: Final = 12
"""When an event's receipts are judged: the machines notice a gap about as many rounds after the
publication as an event takes to spread, and judge it ``receipts.SETTLE_ROUNDS`` later."""

ALL_PEERS: Final = "all peers"
"""The node of what is recorded of all peers together."""

COLUMNS_FOR_EACH_ROUND: Final = 18
"""Columns per round of the highest rate: the maximum lifetime of an event."""


class ArrayGroup:
    """One run of one group with one seed."""

    def __init__(self, settings: GroupSettings, seed: int) -> None:
        """Every peer starts like its machine."""
        parameters, adaptation = settings.parameters, settings.parameters.adaptation
        peers = len(settings.names)
        self.settings = settings
        self.history = ArrayHistory(settings.names)
        self._random = np.random.default_rng(seed)
        offered = float(settings.rates_msgs_per_s.sum())
        highest = min(offered, parameters.buffer_events)
        columns = 64 + round(COLUMNS_FOR_EACH_ROUND * highest * settings.period_s)
        self.table = EventTable(peers, columns, parameters.buffer_events)
        self._phase_rows = [
            np.sort(rows) for rows in np.array_split(self._random.permutation(peers), PHASES)
        ]
        self._senders = settings.senders
        self._step_s = settings.period_s / PHASES
        self._offered_in_step: Floats = settings.rates_msgs_per_s[self._senders] * self._step_s
        self._tokens: Floats = np.full(peers, adaptation.bucket_tokens / 2)
        self._published: Floats = np.zeros(peers)
        self._backlog: Floats = self._random.random(peers)[self._senders]
        self._sizes = GroupSizes(peers, self._random)
        self._law = array_law(parameters, peers, self._random)
        age = initial_average_age(adaptation.low_age_mark, adaptation.high_age_mark)
        self.measures = GroupMeasures(
            rate_msgs_per_s=np.full(peers, adaptation.initial_rate_msgs_per_s),
            used_rate_msgs_per_s=np.zeros(peers),
            average_tokens=self._tokens.copy(),
            average_age=np.full(peers, age),
            copies=np.zeros(peers),
            new_events=np.zeros(peers),
            group_size=self._sizes.size,
        )
        self._delivered = np.zeros(peers, np.uint32)
        self._dropped = 0
        self._dropped_ages = 0
        self._steps = 0

    def step(self, *, now: Instant, offers: bool) -> list[TraceRecord]:
        """One step from now on; ``offers`` says whether the applications offer anything.

        Returns what the peers record of themselves, at the end of every round.
        """
        round_number, phase = divmod(self._steps, PHASES)
        self._steps += 1
        if offers:
            self._publish(round_number, now)
        self._gossip(self._phase_rows[phase])
        if phase < PHASES - 1:
            return []
        self._judge(round_number)
        self._sizes.next_round()
        self.measures.group_size = self._sizes.size
        self.history.delivered_in_round(self._delivered, now=now)
        self._delivered = np.zeros_like(self._delivered)
        return list(self._records(round_number + 1, now))

    def finish(self) -> None:
        """Add the events that are still on their way to the history."""
        self.history.spread(self.table.unfinished())

    def _records(self, rounds: int, now: Instant) -> Iterator[TraceRecord]:
        """The allowed rate of every sender, and what is counted of all peers together."""
        group, names = self.settings.parameters.group, self.settings.names
        rates = self.measures.rate_msgs_per_s[self._senders]
        for row, rate in zip(self._senders.tolist(), rates.tolist(), strict=True):
            yield TraceRecord(now, names[row], group, ALLOWED, rate)
        for metric, value in (
            (ROUNDS, rounds),
            (DROPPED, self._dropped),
            (DROPPED_AGES, self._dropped_ages),
            (GROUP_SIZE, self._sizes.size.mean()),
        ):
            yield TraceRecord(now, ALL_PEERS, group, metric, float(value))

    # -- one step ---------------------------------------------------------------------------

    def _publish(self, round_number: int, now: Instant) -> None:
        senders, backlog, offered = self._senders, self._backlog, self._offered_in_step
        bucket = self.settings.parameters.adaptation.bucket_tokens
        rates = self.measures.rate_msgs_per_s[senders]
        tokens = np.minimum(self._tokens[senders] + rates * self._step_s, bucket)
        np.minimum(backlog + offered, np.maximum(BLOCKED_AT, 1 + offered), out=backlog)
        limited = self._law.limits_rate
        while True:
            ready = np.flatnonzero((backlog >= 1) & ((tokens >= 1) | (not limited)))
            if not len(ready):
                break
            backlog[ready] -= 1
            if limited:
                tokens[ready] -= 1
            publishers = senders[ready]
            self._published[publishers] += 1
            self.measures.new_events[publishers] += 1
            self.table.publish(publishers, round_number, now=now)
            self._purge(publishers)
        self._tokens[senders] = tokens

    def _gossip(self, rows: Integers) -> None:
        parameters, measures = self.settings.parameters, self.measures
        sent = self.table.grow_older(rows, parameters.age_limit)
        self._next_round(rows)
        targets = self._targets(rows, parameters.fanout)
        source = np.repeat(np.arange(len(rows)), targets.shape[1])
        target = targets.ravel()
        arrived = self._random.random(len(target)) >= self.settings.loss
        source, target = source[arrived], target[arrived]
        sketches = self._sizes.sketch[rows]
        self._law.heard(target, rows[source])
        order = np.argsort(target, kind="stable")
        source, target = source[order], target[order]
        # The machines process one gossip after another: the n-th of every peer in turn.
        turn = np.arange(len(target)) - np.searchsorted(target, target)
        for number in range(int(turn.max(initial=-1)) + 1):
            chosen = turn == number
            receivers, senders = target[chosen], source[chosen]
            copies, new = self.table.merge(receivers, sent, senders)
            measures.copies[receivers] += copies
            measures.new_events[receivers] += new
            self._delivered[receivers] += new.astype(np.uint32)
            self._sizes.merge(receivers, sketches[senders])
            self._purge(receivers)

    def _targets(self, rows: Integers, fanout: int) -> Integers:
        """For each of the rows, ``fanout`` different other peers."""
        peers, count = len(self.settings.names), len(rows)
        fanout = min(fanout, peers - 1)
        targets = self._random.integers(0, peers - 1, (count, fanout))
        while True:
            ranked = np.sort(targets, axis=1)
            repeated = (ranked[:, 1:] == ranked[:, :-1]).any(axis=1)
            if not repeated.any():
                result: Integers = targets + (targets >= rows[:, None])
                return result
            again = int(repeated.sum())
            targets[repeated] = self._random.integers(0, peers - 1, (again, fanout))

    def _purge(self, rows: Integers) -> None:
        rows, count, ages = self.table.purge(rows)
        if len(rows):
            weight = self.settings.parameters.adaptation.average_weight
            average = self.measures.average_age[rows]
            self.measures.average_age[rows] = moving_average(
                average, ages / count, weight, count.astype(np.float64)
            )
            self._dropped += int(count.sum())
            self._dropped_ages += int(ages.sum())

    # -- rounds -----------------------------------------------------------------------------

    def _next_round(self, rows: Integers) -> None:
        """End a round of these peers."""
        measures, adaptation = self.measures, self.settings.parameters.adaptation
        measures.average_tokens[rows] = moving_average(
            measures.average_tokens[rows], self._tokens[rows], adaptation.average_weight
        )
        published_msgs_per_s = self._published[rows] / self.settings.period_s
        measures.used_rate_msgs_per_s[rows] = moving_average(
            measures.used_rate_msgs_per_s[rows], published_msgs_per_s, USED_WEIGHT
        )
        self._published[rows] = 0
        measures.rate_msgs_per_s[rows] = self._law.next_rates(rows, measures)
        measures.copies[rows] *= COPIES_WEIGHT
        measures.new_events[rows] *= COPIES_WEIGHT

    def _judge(self, round_number: int) -> None:
        """Judge the events that have spread by now, and end a round of all peers."""
        settled = round_number - SETTLE_ROUNDS
        columns = self.table.published_in(settled)
        if len(columns):
            received = self.table.seen[:, columns].mean(axis=1)
            self._law.judged(settled, received, len(columns))
        self._law.next_round(self.measures)
        self.history.spread(self.table.retire(settled))
