"""The runs of the adaptive gossip paper.

Section 4: 60 peers, fanout 4, a gossip period of 5 s.  Gossip measures time in rounds and load in
messages for each round and buffer.  A live run with a period of 100 ms and a third of the buffers
is therefore the same run, much faster and light enough for 60 peers in one process.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.lab.experiments.experiment import Experiment, Source

LAWS: Final = ("none", "paper", "improved")
PEERS: Final = 60

DEGRADATION_RATES: Final = (10, 20, 30, 45, 60)
"""Messages a second, of all peers together."""
OFFERED: Final = 30
IDEAL_BUFFERS: Final = (30, 60, 90, 120, 180)
IDEAL_FACTORS: Final = (0.25, 0.285)
"""Rates per buffer between which the ideal one is interpolated: theory says 0.267."""
ADAPTIVE_BUFFERS: Final = (30, 60, 90, 120)

SCALE_BUFFER: Final = 30
"""The critical age does not depend on it, and a smaller one lets 10,000 peers run in a minute."""
SCALE_OFFERED: Final = 10
SCALE_SIZES: Final = (60, 1_000, 10_000)
SCALE_LAWS: Final[dict[str, dict[str, Any]]] = {
    "improved": {"law": "improved"},
    "paper": {"law": "paper"},
    "by size": {"law": "paper", "adaptation.marks": "by size"},
}

LIVE_PERIOD_S: Final = 0.1
"""The shortest for which 60 peers need about half a core; a busy machine skips such rounds."""
LIVE_S, DYNAMIC_S = 24.0, 1500.0
FASTER: Final = 5.0 / LIVE_PERIOD_S / 3
"""A third of the messages for each round, in rounds of 100 ms instead of 5 s."""
LIVE_RATE: Final = FASTER / 3
LIVE_STEPS: Final = [[0, 30], [500, 15], [1000, 20]]


def plain_key(buffer_events: int, rate_msgs_per_s: float) -> str:
    """The experiment without adaptation at a rate."""
    return f"plain {buffer_events} at {rate_msgs_per_s:g}"


def ideal_keys(buffer_events: int) -> tuple[str, ...]:
    """The experiments between which the ideal rate is interpolated."""
    return tuple(plain_key(buffer_events, each * buffer_events) for each in IDEAL_FACTORS)


def scale_ideal_keys(peers: int) -> tuple[str, ...]:
    """The same for a size of the group."""
    return tuple(f"scale plain {peers} at {each:g}" for each in IDEAL_FACTORS)


def _parameters(values: dict[str, Any]) -> dict[str, Any]:
    return {f"parameters.gossip.{key}": value for key, value in values.items()}


def _loaded(file: str, law: str, buffer: int, rate: float, effort: int) -> Experiment:
    changed = _parameters({"law": law, "buffer_events": buffer})
    return Experiment(file, {**changed, "clients.p.rate_msgs_per_s": rate / PEERS}, effort=effort)


def _at_scale(peers: int, rate: float, duration_s: float, values: dict[str, Any]) -> Experiment:
    """60 of the peers publish; ten thousand peers are their own sample."""
    sender = {"service": "gossip", "name": "p", "count": PEERS, "rate_msgs_per_s": rate / PEERS}
    listener = {"service": "gossip", "name": "listener", "count": peers - PEERS}
    clients = [sender, listener] if peers > PEERS else [sender]
    changed = {"clients": clients, "duration_s": duration_s, **_parameters(values)}
    seeds = 1 if peers >= 10_000 else 1000
    return Experiment("gossip-scale-100000", changed, "arrays", most_seeds=seeds, effort=peers)


def _live(law: str, clients: list[dict[str, Any]], loss: float = 0.0) -> Experiment:
    """The run of Figure 9 over UDP on this machine."""
    small = {
        "law": law,
        "gossip_period_ns": 100_000_000,
        "buffer_events": 30,
        "datagram_bytes": 1400,
        "adaptation.initial_rate_msgs_per_s": LIVE_RATE,
        "adaptation.lowest_rate_msgs_per_s": FASTER * 0.01,
        "adaptation.smallest_believed_buffer": 3,
    }
    each = {"service": "gossip", "rate_msgs_per_s": LIVE_RATE}
    changed = {"clients": [{**each, **own} for own in clients], "peer_network.loss": loss}
    overrides = {**changed, **_parameters(small)}
    return Experiment("gossip-dynamic", overrides, "net", DYNAMIC_S / LIVE_S, most_seeds=1)


CHANGING: Final = {"name": "changing", "count": 20, "buffer_events": LIVE_STEPS}
CALM: Final = [CHANGING, {"name": "steady", "count": 40}]
STORM: Final = [
    CHANGING,
    {"name": "steady", "count": 34},
    {"name": "leaving", "count": 3, "stop_s": 500, "stop_every_s": 160},
    {"name": "crashing", "count": 3, "stop_s": 580, "stop_every_s": 160, "stops": "crash"},
    {"name": "joining", "count": 6, "start_s": 500, "start_every_s": 80},
]
"""A tenth of the peers go, and others come, while the buffers are small."""


def _experiments() -> dict[str, Source]:
    named: dict[str, Source] = {"live storm": _live("improved", STORM, 0.2)}
    for law in LAWS:
        law_of_all = {"parameters.gossip.law": law}
        named[f"dynamic {law}"] = Experiment("gossip-dynamic", law_of_all, effort=1500)
        named[f"live {law}"] = _live(law, CALM)
    for buffer in ADAPTIVE_BUFFERS:
        for law in LAWS[1:]:
            key = f"adaptive {buffer} {law}"
            named[key] = _loaded("gossip-adaptive", law, buffer, OFFERED, 950)
    rates = [(60, float(rate)) for rate in DEGRADATION_RATES]
    rates += [(buffer, OFFERED) for buffer in ADAPTIVE_BUFFERS]
    rates += [(buffer, each * buffer) for buffer in IDEAL_BUFFERS for each in IDEAL_FACTORS]
    for buffer, rate in rates:
        named[plain_key(buffer, rate)] = _loaded("gossip-plain", "none", buffer, rate, 260)
    for rank in (1, 2):
        changed = _parameters({"adaptation.poorest_rank": rank})
        named[f"one poor {rank}"] = Experiment("gossip-poor-peer", changed, effort=700)
    for peers in SCALE_SIZES:
        for key, factor in zip(scale_ideal_keys(peers), IDEAL_FACTORS, strict=True):
            named[key] = _at_scale(peers, factor * SCALE_BUFFER, 260, {"law": "none"})
        for law, values in SCALE_LAWS.items():
            named[f"scale {peers} {law}"] = _at_scale(peers, SCALE_OFFERED, 800, values)
    return named


EXPERIMENTS: Final = _experiments()
