"""A gossip group of a hundred thousand peers, as arrays.

The machines (group.py) are the protocol; this is the same protocol written as operations on arrays
with one row for each peer, with the same policy functions, for groups that are too large to
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

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.trace import TraceRecord
from penstock.lab.scenario.file import ScenarioError
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.papers.adaptive_gossip.array_estimates import GossipedMeans, GroupSizes
from penstock.papers.adaptive_gossip.group import BLOCKED_AT
from penstock.papers.adaptive_gossip.measure import GroupRecords
from penstock.papers.adaptive_gossip.scenario import ATOMIC_SHARE, GossipResult, GossipScenario
from penstock.papers.adaptive_gossip.table import EventTable
from penstock.services.gossip.events import receipts
from penstock.services.gossip.events.receipts import JUDGED_WEIGHT
from penstock.services.gossip.laws.averages import initial_average_age, moving_average
from penstock.services.gossip.laws.improved_rate import (
    COPIES_WEIGHT,
    USED_WEIGHT,
    copies_for_each_event,
    copies_target,
    improved_rate,
    is_held_back,
    observed_yield,
)
from penstock.services.gossip.laws.paper_rate import paper_rate
from penstock.services.gossip.membership.group_size import age_marks
from penstock.services.gossip.telemetry import ALLOWED
from penstock.sim.world import EPOCH

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PHASES: Final = 24
"""More steps make no measurable difference.  With 8, an event rests at least an eighth of a round
at each hop, and ages at drops are 6 % too low."""

SETTLE_ROUNDS: Final = 12
"""When an event's receipts are judged: the machines notice a gap about as many rounds after the
publication as an event takes to spread, and judge it ``receipts.SETTLE_ROUNDS`` later."""

FIRST_JUDGED_ROUND: Final = 8
"""A machine judges no event before the first one that it received from the same origin, which
leaves most of the first rounds' burst unjudged."""

ALL_SENDERS: Final = "all senders"
"""The node of the records: a hundred thousand peers are recorded as one."""

COLUMNS_FOR_EACH_ROUND: Final = 18
"""Columns per round of the highest rate: the maximum lifetime of an event."""


class ArrayGroup:
    """One run of one scenario with one seed."""

    def __init__(
        self, scenario: GossipScenario, seed: int, telemetry: Telemetry | None = None
    ) -> None:
        """Every peer starts like its machine."""
        parameters, adaptation = scenario.parameters, scenario.parameters.adaptation
        peers = scenario.peers
        self.scenario = scenario
        self.seed = seed
        self.telemetry = telemetry or Telemetry()
        self._random = np.random.default_rng(seed)
        highest = min(scenario.offered_msgs_per_s, parameters.buffer_events)
        columns = 64 + int(COLUMNS_FOR_EACH_ROUND * highest * scenario.period_s)
        self.table = EventTable(peers, columns, parameters.buffer_events)
        self._phase_rows = [
            np.sort(rows) for rows in np.array_split(self._random.permutation(peers), PHASES)
        ]
        self._senders = scenario.sender_count
        self.rate: Floats = np.full(peers, adaptation.initial_rate_msgs_per_s)
        self._tokens: Floats = np.full(peers, adaptation.bucket_tokens / 2)
        self._average_tokens: Floats = self._tokens.copy()
        self._used: Floats = np.zeros(peers)
        self._published: Floats = np.zeros(peers)
        self._backlog: Floats = self._random.random(peers)
        start = initial_average_age(adaptation.low_age_mark, adaptation.high_age_mark)
        self._average_age: Floats = np.full(peers, start)
        self._copies: Floats = np.zeros(peers)
        self._new: Floats = np.zeros(peers)
        self._yield: Floats = np.ones(peers)
        needed = float(copies_target(1.0, adaptation))
        self._copies_then: Floats = np.full(peers, needed)
        self._copies_history = [self._copies_then.copy() for _ in range(receipts.SETTLE_ROUNDS)]
        self._share: Floats = np.full(peers, adaptation.receipt_target)
        self._receipt = GossipedMeans(self._share.copy(), np.ones(peers))
        self._mean_rate = GossipedMeans(self.rate.copy(), np.zeros(peers))
        self._sizes = GroupSizes(peers, self._random)
        self._drops = [0, 0]
        self._shares_by_round: dict[int, list[float]] = {}

    def run(self, progress: Callable[[float], None] = lambda at_s: None) -> GossipResult:
        """Run all rounds; ``progress`` receives the current second."""
        scenario = self.scenario
        for round_number in range(scenario.rounds):
            if round_number == scenario.warm_up_rounds:
                self._drops = [0, 0]
            for rows in self._phase_rows:
                self._publish(round_number)
                self._gossip(rows)
            self._judge(round_number)
            self._sizes.next_round()
            self._record(round_number)
            progress((round_number + 1) * scenario.period_s)
        self._note(*self.table.retire(scenario.rounds))
        return self._result()

    def _record(self, round_number: int) -> None:
        """The group's own telemetry: the allowed rate of all senders together."""
        at = EPOCH + round_number * self.scenario.parameters.gossip_period_ns
        allowed = float(self.rate[: self._senders].sum())
        subject = self.scenario.parameters.group
        self.telemetry.add(TraceRecord(at, ALL_SENDERS, subject, ALLOWED, allowed))

    # -- one step ---------------------------------------------------------------------------

    def _publish(self, round_number: int) -> None:
        scenario, adaptation = self.scenario, self.scenario.parameters.adaptation
        step_s = scenario.period_s / PHASES
        senders = slice(0, self._senders)
        tokens = self._tokens[senders]
        np.minimum(tokens + self.rate[senders] * step_s, adaptation.bucket_tokens, out=tokens)
        offered = scenario.offered_msgs_per_s / self._senders * step_s
        backlog = self._backlog[senders]
        np.minimum(backlog + offered, max(BLOCKED_AT, 1 + offered), out=backlog)
        limited = scenario.parameters.law != "none"
        while True:
            ready = (backlog >= 1) & ((tokens >= 1) | (not limited))
            publishers = np.flatnonzero(ready)
            if not len(publishers):
                return
            backlog[publishers] -= 1
            if limited:
                tokens[publishers] -= 1
            self._published[publishers] += 1
            self._new[publishers] += 1
            self.table.publish(publishers, round_number)
            self._purge(publishers)

    def _gossip(self, rows: Integers) -> None:
        parameters, peers = self.scenario.parameters, self.scenario.peers
        sent = self.table.grow_older(rows, parameters.age_limit)
        self._next_round(rows)
        targets = self._targets(len(rows), rows, parameters.fanout, peers)
        source = np.repeat(np.arange(len(rows)), parameters.fanout)
        target = targets.ravel()
        arrived = self._random.random(len(target)) >= self.scenario.loss
        source, target = source[arrived], target[arrived]
        sketches = self._sizes.sketch[rows]
        self._receipt.heard(target, rows[source])
        self._mean_rate.heard(target, rows[source])
        order = np.argsort(target, kind="stable")
        source, target = source[order], target[order]
        # The machines process one gossip after another: the n-th of every peer in turn.
        turn = np.arange(len(target)) - np.searchsorted(target, target)
        for number in range(int(turn.max(initial=-1)) + 1):
            chosen = turn == number
            receivers, senders = target[chosen], source[chosen]
            copies, new = self.table.merge(receivers, sent, senders)
            self._copies[receivers] += copies
            self._new[receivers] += new
            self._sizes.merge(receivers, sketches[senders])
            self._purge(receivers)

    def _targets(self, count: int, rows: Integers, fanout: int, peers: int) -> Integers:
        """For each of the rows, ``fanout`` different other peers."""
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
            weight = self.scenario.parameters.adaptation.average_weight
            average = self._average_age[rows]
            self._average_age[rows] = moving_average(
                average, ages / count, weight, count.astype(np.float64)
            )
            self._drops[0] += int(count.sum())
            self._drops[1] += int(ages.sum())

    # -- the laws ---------------------------------------------------------------------------

    def _next_round(self, rows: Integers) -> None:
        parameters, adaptation = self.scenario.parameters, self.scenario.parameters.adaptation
        self._average_tokens[rows] = moving_average(
            self._average_tokens[rows], self._tokens[rows], adaptation.average_weight
        )
        published_msgs_per_s = self._published[rows] / self.scenario.period_s
        self._used[rows] = moving_average(self._used[rows], published_msgs_per_s, USED_WEIGHT)
        self._published[rows] = 0
        if parameters.law == "paper":
            self._by_age(rows)
        elif parameters.law == "improved":
            self._by_copies(rows)
        self._copies[rows] *= COPIES_WEIGHT
        self._new[rows] *= COPIES_WEIGHT

    def _by_age(self, rows: Integers) -> None:
        adaptation = self.scenario.parameters.adaptation
        low: Any = adaptation.low_age_mark
        high: Any = adaptation.high_age_mark
        if adaptation.marks == "by size":
            low, high = age_marks(low, high, self._sizes.size[rows])
        self.rate[rows] = paper_rate(
            self.rate[rows],
            average_age=self._average_age[rows],
            average_tokens=self._average_tokens[rows],
            draw=self._random.random(len(rows)),
            low_age_mark=low,
            high_age_mark=high,
            parameters=adaptation,
        )

    def _by_copies(self, rows: Integers) -> None:
        adaptation = self.scenario.parameters.adaptation
        self._receipt.next_round(rows, self._share[rows])
        held_back = is_held_back(self._average_tokens[rows], adaptation)
        self._mean_rate.next_round(rows, np.where(held_back, self.rate[rows], np.nan))
        self._yield[rows] = observed_yield(
            self._yield[rows],
            share=self._receipt.value[rows],
            copies_then=self._copies_then[rows],
        )
        self.rate[rows] = improved_rate(
            self.rate[rows],
            copies=self._copies_now()[rows],
            target=copies_target(self._yield[rows], adaptation),
            average_tokens=self._average_tokens[rows],
            used_rate_msgs_per_s=self._used[rows],
            mean_rate_msgs_per_s=self._mean_rate.value[rows],
            parameters=adaptation,
        )

    def _copies_now(self) -> Floats:
        target = copies_target(self._yield, self.scenario.parameters.adaptation)
        counted = copies_for_each_event(self._copies, self._new)
        return np.where(self._new < 1, target, counted)

    # -- what came of it --------------------------------------------------------------------

    def _judge(self, round_number: int) -> None:
        settled = round_number - SETTLE_ROUNDS
        columns = self.table.published_in(settled)
        copies_then = self._copies_history.pop(0)
        self._copies_history.append(self._copies_now())
        if len(columns) and settled >= FIRST_JUDGED_ROUND:
            received = self.table.seen[:, columns].mean(axis=1)
            self._share = np.asarray(
                moving_average(self._share, received, JUDGED_WEIGHT, float(len(columns)))
            )
            self._copies_then = np.asarray(
                moving_average(self._copies_then, copies_then, JUDGED_WEIGHT, float(len(columns)))
            )
        self._note(*self.table.retire(settled))

    def _note(self, rounds: Integers, shares: Floats) -> None:
        for round_number, share in zip(rounds.tolist(), shares.tolist(), strict=True):
            self._shares_by_round.setdefault(round_number, []).append(share)

    def _result(self) -> GossipResult:
        scenario = self.scenario
        records = GroupRecords(self.telemetry, (ALL_SENDERS,), EPOCH)
        allowed = records.allowed_by_round(scenario)
        first, last = scenario.warm_up_rounds, scenario.rounds - scenario.settle_rounds
        by_round = [np.array(self._shares_by_round.get(each, [])) for each in range(last)]
        shares = np.concatenate(by_round[first:last])
        rate = len(shares) / (last - first) / scenario.period_s
        count, ages = self._drops
        return GossipResult(
            seed=self.seed,
            input_rate_msgs_per_s=rate,
            allowed_rate_msgs_per_s=float(np.mean(allowed[first:last])),
            output_rate_msgs_per_s=rate * float(shares.mean()),
            receivers=float(shares.mean()),
            atomic=float((shares >= ATOMIC_SHARE).mean()),
            drop_age=ages / count if count else float("nan"),
            group_size=float(self._sizes.size.mean()),
            allowed_by_round=tuple(allowed.tolist()),
            input_by_round=tuple(len(each) / scenario.period_s for each in by_round),
            receivers_by_round=tuple(
                float(each.mean()) if len(each) else float("nan") for each in by_round
            ),
        )


def run_arrays(
    scenario: GossipScenario,
    seed: int,
    telemetry: Telemetry | None = None,
    progress: Callable[[float], None] = lambda at_s: None,
) -> GossipResult:
    """One run as arrays."""
    if scenario.changes or scenario.churn is not None:
        raise ScenarioError(f"{scenario.name}: arrays support no buffer changes and no churn")
    return ArrayGroup(scenario, seed, telemetry).run(progress)
