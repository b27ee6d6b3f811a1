"""Random cases of the gossip service.

1. A group of 20 to 200 peers, of which some publish; buffers differ between the peers in half of
   the cases.  Period, fanout and what the senders offer are drawn.
2. An event is passed on while it is in a buffer.  At a rate r of the whole group an event that
   reaches the share π stays B / (r · T · π) rounds in a buffer of B, and pushed to f peers in each
   round it reaches π = 1 - exp(-f · τ · π), where τ is the mean stay of all peers.  At π = 95 %
   that needs f · τ = 3.15, so the largest rate is f · B / (3.15 · T · π) with the mean buffer B:
   0.267 · B for the paper's period of 5 s and fanout of 4.  A share of lost datagrams is so much of
   the fanout.
3. That rate is shared max-min by the senders: nobody is to have less so that another has more.
4. Laws have ``SETTLE_ROUNDS`` to settle.  Events of the last rounds have no time to spread, and are
   not measured.
"""

from __future__ import annotations

from math import log
from random import Random
from typing import Final

from penstock.core.clock import SECOND
from penstock.lab.scenario.model import PeerNetwork, Scenario
from penstock.lab.workloads.gossip.tables import GossipPeer
from penstock.papers.held_out.case import Case, CaseFlow, Phase
from penstock.papers.held_out.network import log_uniform
from penstock.services.gossip.parameters import GossipParameters

SERVICE: Final = "gossip"
GROUP: Final = "group"
"""What all senders share, in place of a link."""

PEERS: Final = (20, 200)
SENDERS: Final = (1, 20)
COPIES_IN_A_ROUND: Final = 9000
"""Peers times buffer times fanout: what a simulation can afford."""
BUFFER: Final = (15.0, 120.0)
SPREAD: Final = 0.5
PERIODS_S: Final = (1.0, 2.0, 5.0)
FANOUTS: Final = (3, 4, 6)
LOAD: Final = (0.3, 3.0)
SETTLE_ROUNDS, WINDOW_ROUNDS, SPREAD_ROUNDS = 50, 35, 15
COVERAGE: Final = 0.95
"""*Reliable* in Section 2.3 of the paper."""
DATAGRAM_BYTES: Final = 65_000


def ideal_rate(buffer_events: float, period_s: float, fanout: int) -> float:
    """The largest rate of a group that reaches ``COVERAGE``, in messages a second."""
    copies = -log(1 - COVERAGE) / COVERAGE
    return fanout * buffer_events / (copies * period_s * COVERAGE)


def _first_rates(period_s: float) -> dict[str, float]:
    """What a peer begins with at another period, as the client library sets it."""
    adaptation = GossipParameters().with_period(period_s).adaptation
    return {
        "initial_rate_msgs_per_s": adaptation.initial_rate_msgs_per_s,
        "lowest_rate_msgs_per_s": adaptation.lowest_rate_msgs_per_s,
    }


def draw(seed: int, random: Random) -> Case:
    """The case of a seed."""
    fanout = random.choice(FANOUTS)
    affordable = COPIES_IN_A_ROUND / fanout
    peers = round(log_uniform(random, PEERS[0], min(PEERS[1], affordable / BUFFER[0])))
    senders = random.randint(SENDERS[0], min(SENDERS[1], peers))
    mean = round(log_uniform(random, BUFFER[0], min(BUFFER[1], affordable / peers)))
    spread = random.choice((0.0, SPREAD))
    buffers = [max(10, round(mean * random.uniform(1 - spread, 1 + spread))) for _ in range(peers)]
    period_s = random.choice(PERIODS_S)
    loss = random.choice((0.0, 0.0, 0.02))
    capacity = ideal_rate(sum(buffers) / peers, period_s, fanout) * (1 - loss)
    clients, flows = [], []
    for number, buffer in enumerate(buffers):
        name = f"p{number}"
        demand = 0.0
        if number < senders:
            demand = capacity / senders * log_uniform(random, *LOAD)
            flows.append(CaseFlow(name, SERVICE, {GROUP: 1.0}, demand, 1.0))
        clients.append(
            GossipPeer(
                service=SERVICE, name=name, rate_msgs_per_s=demand, buffer_events=float(buffer)
            )
        )
    from_s = SETTLE_ROUNDS * period_s
    to_s = from_s + WINDOW_ROUNDS * period_s
    return Case(
        seed,
        SERVICE,
        Scenario(
            name=f"held-out-{seed}",
            description=f"Held-out case {seed} of the {SERVICE} service.",
            duration_s=to_s + SPREAD_ROUNDS * period_s,
            drain_s=0.0,
            trace_interval_s=period_s,
            parameters={
                SERVICE: {
                    "gossip_period_ns": round(period_s * SECOND),
                    "fanout": fanout,
                    "datagram_bytes": DATAGRAM_BYTES,
                    "adaptation": _first_rates(period_s),
                }
            },
            peer_network=PeerNetwork(
                latency_ms=round(log_uniform(random, 1.0, 100.0), 1),
                loss=loss,
            ),
            clients=tuple(clients),
        ),
        tuple(flows),
        (Phase(0.0, from_s, to_s, {GROUP: capacity}),),
    )
