"""The quantities of the content-aware paper, measured in a run of either world.

They are computed from what subscribers received, so simulated and live runs are measured alike.
"""

from __future__ import annotations

from typing import Final, Protocol

from penstock.papers.content_aware.scenario import DatagramScenario
from penstock.services.datagram.laws.max_min import max_min_shares

ENOUGH: Final = 0.9
"""The share of a larger capacity from which it counts as used."""


class MeasuredRun(Protocol):
    """The results that runs of both worlds provide."""

    @property
    def bucket_s(self) -> float:
        """The length of a bucket."""

    def received_by(self, pair: int) -> tuple[int, ...]:
        """The messages that a subscriber received, by bucket."""

    def rate_msgs_per_s(self, pair: int, from_s: float, to_s: float) -> float:
        """The rate that a subscriber received between two times."""


def adaptation_s(scenario: DatagramScenario, run: MeasuredRun) -> float:
    """The longest time until nine tenths of a larger capacity were used."""
    longest_s = 0.0
    for before, after in zip(scenario.bandwidth, scenario.bandwidth[1:], strict=False):
        if after.kbps < before.kbps:
            continue
        enough = ENOUGH * scenario.capacity_msgs_per_s(after.at_s) * run.bucket_s
        received = run.received_by(0)[round(after.at_s / run.bucket_s) :]
        reached = next((at for at, count in enumerate(received) if count >= enough), len(received))
        longest_s = max(longest_s, (reached + 1) * run.bucket_s)
    return longest_s


def capacity_messages(scenario: DatagramScenario) -> float:
    """The number of messages that the varying bottleneck could have carried."""
    ends_s = [*(step.at_s for step in scenario.bandwidth[1:]), scenario.duration_s]
    return sum(
        (end_s - step.at_s) * scenario.capacity_msgs_per_s(step.at_s)
        for step, end_s in zip(scenario.bandwidth, ends_s, strict=True)
    )


def unfairness(scenario: DatagramScenario, run: MeasuredRun, from_s: float, to_s: float) -> float:
    """The distance, in per cent, of the worst flow from its max-min share.

    The shared capacity is what the link carries in messages of full size, or what it has carried if
    that is more: on a real link the messages of an uncontrolled flow have no tag and are a tenth
    smaller.
    """
    demands = [pair.matching * pair.rate_msgs_per_s[0].msgs_per_s for pair in scenario.pairs]
    rates = [run.rate_msgs_per_s(pair, from_s, to_s) for pair in range(len(demands))]
    capacity = max(scenario.capacity_msgs_per_s(from_s), sum(rates))
    shares = max_min_shares(capacity, demands, [1.0] * len(demands))
    return 100 * max(abs(rate - share) / share for rate, share in zip(rates, shares, strict=True))


def shown_rates(run: MeasuredRun, pairs: int, from_s: float, to_s: float) -> str:
    """The rates of all pairs, as in "149/146/148"."""
    return "/".join(f"{run.rate_msgs_per_s(pair, from_s, to_s):.0f}" for pair in range(pairs))
