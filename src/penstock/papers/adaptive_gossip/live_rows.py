"""The live runs of the gossip table: Figure 9 over UDP, and the same under loss and churn."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from penstock.papers.adaptive_gossip.compressed import compressed
from penstock.papers.adaptive_gossip.experiments import dynamic
from penstock.papers.adaptive_gossip.live import LiveGroup, run_group
from penstock.papers.adaptive_gossip.scenario import (
    BufferChange,
    Churn,
    GossipResult,
    GossipScenario,
)
from penstock.papers.table import PaperRow, at_least, row
from penstock.services.gossip.parameters import Law


def live_scenario(law: Law, *, peers: int = 60, rounds: int = 240) -> GossipScenario:
    """The dynamic-buffer run, live."""
    small = compressed(dynamic(law))
    return msgspec.structs.replace(
        small,
        name=f"gossip-live-{law}",
        purpose="The dynamic-buffer run over UDP",
        peers=peers,
        offered_msgs_per_s=small.offered_msgs_per_s * peers / small.peers,
        rounds=rounds,
        warm_up_rounds=rounds // 3,
        settle_rounds=20,
        changes=(
            BufferChange(rounds // 3, 1 / 3, 15),
            BufferChange(2 * rounds // 3, 1 / 3, 20),
        ),
    )


def stormy_scenario(*, peers: int = 60, rounds: int = 240) -> GossipScenario:
    """The same with every fifth datagram lost, while a tenth of the peers leave and join."""
    return msgspec.structs.replace(
        live_scenario("improved", peers=peers, rounds=rounds),
        name="gossip-live-storm",
        purpose="20 % of the datagrams are lost, 10 % of the peers are replaced",
        loss=0.2,
        churn=Churn(rounds // 3, 2 * rounds // 3, 0.1),
    )


def _run(scenario: GossipScenario) -> tuple[GossipResult, float]:
    """The measurements of a run, and the share of its rounds that a peer ran."""
    group = LiveGroup(scenario, 1)
    return run_group(group), group.rounds_kept


def live_rows(progress: Callable[[str], None]) -> list[PaperRow]:
    """The live runs as rows of the table."""
    results: dict[str, GossipResult] = {}
    kept: dict[str, float] = {}
    laws: tuple[Law, ...] = ("none", "paper", "improved")
    for law in laws:
        progress(f"gossip: live, 60 peers over UDP, law {law} (24 s)")
        results[law], kept[law] = _run(live_scenario(law))
    progress("gossip: live, with loss and churn (24 s)")
    results["storm"], kept["storm"] = _run(stormy_scenario())
    run_name = "Live: 60 peers over UDP, T = 100 ms, buffers 30 → 15 → 20"
    period_s = live_scenario("paper").period_s
    return [
        row(
            "gossip",
            run_name,
            "receivers",
            "share",
            paper="0.92 atomic",
            bar=at_least(0.95),
            stretch=at_least(0.95),
            paper_law=[results["paper"].receivers],
            improved_law=[results["improved"].receivers],
            note=f"plain lpbcast: {results['none'].receivers:.3f}; peers ran {kept['paper']:.0%} "
            f"and {kept['improved']:.0%} of their rounds",
        ),
        row(
            "gossip",
            run_name,
            "input rate for each round",
            "msg",
            paper="–",
            bar=at_least(20.0),
            paper_law=[results["paper"].input_rate_msgs_per_s * period_s],
            improved_law=[results["improved"].input_rate_msgs_per_s * period_s],
            note="33.3 are offered",
        ),
        row(
            "gossip",
            "Live: 20 % datagram loss, 10 % of the peers replaced",
            "receivers",
            "share",
            paper="–",
            bar=at_least(0.95),
            paper_law=[],
            improved_law=[results["storm"].receivers],
            note=f"peers ran {kept['storm']:.0%} of their rounds",
        ),
    ]
