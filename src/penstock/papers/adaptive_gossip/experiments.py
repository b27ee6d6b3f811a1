"""The paper's experiments as scenarios, and the jobs that run them.

Section 4: 60 peers, fanout 4, a gossip period of 5 s.  Datagram sizes do not matter in these runs,
so a round's gossip to a peer is one datagram.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from multiprocessing import get_context
from typing import Final, Literal, TypeAlias

import msgspec
import numpy as np

from penstock.lab.arrays.gossip.group import run_arrays
from penstock.papers.adaptive_gossip.group import simulate
from penstock.papers.adaptive_gossip.scenario import BufferChange, GossipResult, GossipScenario
from penstock.services.gossip.parameters import AdaptationParameters, GossipParameters, Law, Marks

TARGET_SHARE: Final = 0.95
"""*Reliable* means that an event reaches this share of the peers, on average (Section 2.3)."""

DEGRADATION_RATES: Final = (10, 20, 30, 45, 60)
DEGRADATION_BUFFER: Final = 60
IDEAL_BUFFERS: Final = (30, 60, 90, 120, 180)
IDEAL_FACTORS: Final = (0.25, 0.285)
"""Rates per buffer between which the ideal one is interpolated: theory says 0.267."""

ADAPTIVE_BUFFERS: Final = (30, 60, 90, 120)
SCALE_BUFFER: Final = 30
"""The critical age does not depend on it, and a smaller one lets 10,000 peers run in a minute."""

SCALE_SIZES: Final = (60, 1_000, 10_000)
FIRST_CHANGE_ROUND: Final = 100
SECOND_CHANGE_ROUND: Final = 200
DYNAMIC_ROUNDS: Final = 300
ONE_DATAGRAM_BYTES: Final = 65_000

Engine: TypeAlias = Literal["machines", "arrays"]
Key: TypeAlias = tuple[str | float, ...]


class Job(msgspec.Struct, frozen=True):
    """One run; ``key`` names the figure that it belongs to."""

    key: Key
    scenario: GossipScenario
    seed: int
    engine: Engine = "machines"


Results: TypeAlias = dict[Key, list[GossipResult]]


def parameters(
    law: Law,
    buffer_events: int,
    initial_rate: float = 0.25,
    *,
    marks: Marks = "fixed",
    rank: int = 1,
    sample_period_rounds: int = 2,
) -> GossipParameters:
    """The paper's parameters with a law and a buffer."""
    adaptation = AdaptationParameters(
        initial_rate_msgs_per_s=initial_rate,
        marks=marks,
        poorest_rank=rank,
        sample_period_rounds=sample_period_rounds,
    )
    return GossipParameters(
        law=law,
        buffer_events=buffer_events,
        datagram_bytes=ONE_DATAGRAM_BYTES,
        adaptation=adaptation,
    )


def plain(buffer_events: int, rate: float, *, peers: int = 60) -> GossipScenario:
    """lpbcast without adaptation; only its buffers need time to settle."""
    return GossipScenario(
        name=f"gossip-plain-{buffer_events}-{rate:g}",
        purpose="Reliability and age of drops at a fixed rate",
        parameters=parameters("none", buffer_events),
        peers=peers,
        senders=60,
        offered_msgs_per_s=rate,
        rounds=52,
        warm_up_rounds=20,
        settle_rounds=16,
    )


def adaptive(law: Law, buffer_events: int) -> GossipScenario:
    """30 messages per second are offered, whatever the buffers can carry."""
    return GossipScenario(
        name=f"gossip-{law}-{buffer_events}",
        purpose="The rate that the law settles on, and what it delivers",
        parameters=parameters(law, buffer_events),
        rounds=190,
        warm_up_rounds=110,
        settle_rounds=15,
    )


def dynamic(law: Law) -> GossipScenario:
    """A third of the peers shrink from 90 to 45 and grow to 60 (Figure 9)."""
    return GossipScenario(
        name=f"gossip-dynamic-{law}",
        purpose="How fast and how well the law follows the buffers",
        parameters=parameters(law, 90, 1 / 3),
        offered_msgs_per_s=20.0,
        rounds=DYNAMIC_ROUNDS,
        warm_up_rounds=FIRST_CHANGE_ROUND,
        settle_rounds=15,
        changes=(
            BufferChange(FIRST_CHANGE_ROUND, 1 / 3, 45),
            BufferChange(SECOND_CHANGE_ROUND, 1 / 3, 60),
        ),
    )


def one_poor_peer(rank: int) -> GossipScenario:
    """One of 60 peers has a ninth of the others' buffer (Section 6)."""
    return GossipScenario(
        name=f"gossip-one-poor-{rank}",
        purpose="Whether one poor peer holds back the group",
        parameters=parameters("paper", 90, rank=rank, sample_period_rounds=6),
        rounds=140,
        warm_up_rounds=80,
        settle_rounds=15,
        changes=(BufferChange(0, 1 / 60, 10),),
    )


def at_scale(law: Law, peers: int, marks: Marks = "fixed") -> GossipScenario:
    """The same load and buffers for any size of the group; 60 of the peers publish."""
    return GossipScenario(
        name=f"gossip-scale-{law}-{peers}",
        purpose="What the size of the group does to the law",
        parameters=parameters(law, SCALE_BUFFER, 0.12, marks=marks),
        peers=peers,
        senders=60,
        offered_msgs_per_s=10.0,
        rounds=160,
        warm_up_rounds=100,
        settle_rounds=25,
    )


def paper_jobs(seeds: int) -> list[Job]:
    """All runs that the table needs, the longest first."""
    jobs = list(_scale_jobs(seeds))
    for seed in range(1, seeds + 1):
        laws: tuple[Law, ...] = ("none", "paper", "improved")
        jobs += [Job(("dynamic", law), dynamic(law), seed) for law in laws]
        for buffer in reversed(ADAPTIVE_BUFFERS):
            jobs += [
                Job(("adaptive", law, buffer), adaptive(law, buffer), seed) for law in laws[1:]
            ]
            jobs.append(Job(("adaptive", "none", buffer), plain(buffer, 30.0), seed))
        for buffer in reversed(IDEAL_BUFFERS):
            for factor in IDEAL_FACTORS:
                scenario = plain(buffer, factor * buffer)
                jobs.append(Job(("ideal", buffer, factor), scenario, seed))
        for rate in DEGRADATION_RATES:
            jobs.append(Job(("degradation", rate), plain(DEGRADATION_BUFFER, rate), seed))
        jobs += [Job(("one poor", rank), one_poor_peer(rank), seed) for rank in (1, 2)]
    return jobs


def _scale_jobs(seeds: int) -> Iterable[Job]:
    """The largest group runs with one seed: ten thousand peers are their own sample."""
    for peers in reversed(SCALE_SIZES):
        for seed in range(1, 2 if peers >= 10_000 else seeds + 1):
            for factor in IDEAL_FACTORS:
                scenario = plain(SCALE_BUFFER, factor * SCALE_BUFFER, peers=peers)
                yield Job(("scale ideal", peers, factor), scenario, seed, "arrays")
            yield Job(("scale", "improved", peers), at_scale("improved", peers), seed, "arrays")
            yield Job(("scale", "paper", peers), at_scale("paper", peers), seed, "arrays")
            by_size = at_scale("paper", peers, "by size")
            yield Job(("scale", "by size", peers), by_size, seed, "arrays")


def run_job(job: Job) -> GossipResult:
    run = simulate if job.engine == "machines" else run_arrays
    return run(job.scenario, job.seed)


def run_jobs(jobs: list[Job], progress: Callable[[str], None]) -> Results:
    """All runs, one per core at a time; the results of a key in the order of the seeds."""
    results: Results = {}
    with get_context("spawn").Pool() as pool:
        for number, (job, result) in enumerate(
            zip(jobs, pool.imap(run_job, jobs), strict=True), start=1
        ):
            results.setdefault(job.key, []).append(result)
            progress(f"gossip: {number} of {len(jobs)} runs ({job.scenario.name}, {job.seed})")
    return results


def ideal_rate_and_age(
    slower: GossipResult, faster: GossipResult, share: float = TARGET_SHARE
) -> tuple[float, float]:
    """The highest rate that reaches the share, and the age of drops there, from two runs.

    The misses fall exponentially with the copies of each event, which are inverse to the rate, so
    −ln(1 − share) and the age are interpolated over 1 / rate.
    """
    logs = [-np.log1p(-each.receivers) for each in (slower, faster)]
    inverses = [1 / each.input_rate_msgs_per_s for each in (slower, faster)]
    part = (-np.log1p(-share) - logs[1]) / (logs[0] - logs[1])
    inverse = inverses[1] + part * (inverses[0] - inverses[1])
    age = faster.drop_age + part * (slower.drop_age - faster.drop_age)
    return float(1 / inverse), float(age)


def ideals(results: Results, name: str, size: int) -> list[tuple[float, float]]:
    """Ideal rate and critical age for a size of buffers or of the group, for each seed."""
    slower, faster = (results[name, size, factor] for factor in IDEAL_FACTORS)
    return [ideal_rate_and_age(*pair) for pair in zip(slower, faster, strict=True)]
