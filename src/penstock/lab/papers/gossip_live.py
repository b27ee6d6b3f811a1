"""The gossip group over UDP on loopback: 60 sockets, one event loop, rounds of 100 ms.

The run is Figure 9's in a smaller measure: a gossip period of 100 ms instead of 5 s and buffers of
30, 15 and 20 events instead of 90, 45 and 60, so that one process can be 60 peers.  In messages
for each round and buffer, which is what gossip knows, load and buffers are the paper's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from statistics import median
from typing import Final

import msgspec
import uvloop

from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.machine import Effect
from penstock.core.randomness import random_stream
from penstock.gossip.facts import DeliverEvents, InGroup, JoinGroup, Leave, Publish, Published
from penstock.gossip.parameters import AdaptationParameters, GossipParameters, Law
from penstock.lab.papers.gossip_group import BLOCKED_AT, CONTACTS
from penstock.lab.papers.gossip_measure import DeliveryBook
from penstock.lab.papers.gossip_scenario import BufferChange, Churn, GossipResult, GossipScenario
from penstock.lab.papers.table import PaperRow, at_least, row
from penstock.net.datagrams import GossipEndpoint

LIVE_PERIOD_NS: Final = 100 * MILLISECOND
LIVE_RATE_MSGS_PER_S: Final = 333.0
"""20 messages a second of 90 buffers and 5 s are this many of 30 buffers and 100 ms."""


class LiveGroup:
    """One run of one scenario over UDP."""

    def __init__(self, scenario: GossipScenario, seed: int) -> None:
        """Nothing is open yet."""
        self.scenario = scenario
        self.seed = seed
        self.endpoints: dict[str, GossipEndpoint] = {}
        self.book = DeliveryBook(scenario)
        self._random = random_stream(seed, "live")
        self._payload = bytes(scenario.payload_bytes)
        self._group = scenario.parameters.group
        self._allowed: list[float] = []
        self._drops_at_warm_up = (0, 0)
        self._senders: list[str] = []
        self._started_s = 0.0
        self._handles: dict[str, asyncio.TimerHandle] = {}

    async def run(self) -> GossipResult:
        """Let the rounds pass in real time."""
        scenario, loop = self.scenario, asyncio.get_running_loop()
        try:
            await self._open_all()
            self._started_s = loop.time()
            for round_number in range(scenario.rounds):
                self._happen(round_number)
                if round_number == scenario.warm_up_rounds:
                    self._drops_at_warm_up = self._drops()
                if self._is_churn_round(round_number):
                    await self._replace(round_number)
                end_s = self._started_s + (round_number + 1) * scenario.period_s
                await asyncio.sleep(max(0.0, end_s - loop.time()))
                self._allowed.append(
                    sum(
                        self.endpoints[name].host.peers[self._group].bucket.rate_msgs_per_s
                        for name in self._senders
                    )
                )
        finally:
            self._close_all()
        return self._result()

    # -- the group --------------------------------------------------------------------------

    async def _open_all(self) -> None:
        for number in range(self.scenario.peers):
            await self._open(f"p{number}")
        addresses = [endpoint.address for endpoint in self.endpoints.values()]
        view = min(self.scenario.parameters.view_size, len(addresses))
        for endpoint in self.endpoints.values():
            contacts = tuple(self._random.sample(addresses, view))
            endpoint.tell(JoinGroup(self.scenario.parameters, contacts))
        self._senders = list(self.endpoints)[: self.scenario.sender_count]
        for name in self._senders:
            self._start_offering(name)

    async def _open(self, name: str) -> GossipEndpoint:
        endpoint = await GossipEndpoint.open(
            "127.0.0.1:0",
            self.scenario.parameters.buffer_events,
            self._application,
            seed=f"{self.seed}/{name}",
            loss=self.scenario.loss,
        )
        self.endpoints[name] = endpoint
        return endpoint

    def _close_all(self) -> None:
        for handle in self._handles.values():
            handle.cancel()
        for endpoint in self.endpoints.values():
            endpoint.close()

    def _happen(self, round_number: int) -> None:
        for change in self.scenario.changes:
            if change.at_round == round_number:
                count = round(change.share * len(self.endpoints))
                for name in list(self.endpoints)[:count]:
                    self.endpoints[name].resize(change.buffer_events)

    def _is_churn_round(self, round_number: int) -> bool:
        churn = self.scenario.churn
        if churn is None or not churn.from_round <= round_number < churn.to_round:
            return False
        count = round(churn.share * self.scenario.peers)
        every = max(1, (churn.to_round - churn.from_round) // count)
        return (round_number - churn.from_round) % every == 0

    async def _replace(self, round_number: int) -> None:
        leaver = self._random.choice(list(self.endpoints))
        endpoint = self.endpoints.pop(leaver)
        if leaver in self._handles:
            self._handles.pop(leaver).cancel()
        if round_number % 2 == 0:
            endpoint.tell(InGroup(self._group, Leave()))
        endpoint.close()
        others = [each.address for each in self.endpoints.values()]
        newcomer = await self._open(f"n{round_number}")
        contacts = tuple(self._random.sample(others, CONTACTS))
        newcomer.tell(JoinGroup(self.scenario.parameters, contacts))
        if leaver in self._senders:
            self._senders[self._senders.index(leaver)] = f"n{round_number}"
            self._start_offering(f"n{round_number}")

    # -- the application --------------------------------------------------------------------

    def _application(self, group: str, effect: Effect) -> None:
        if isinstance(effect, DeliverEvents):
            self.book.delivered(effect.events)
        elif isinstance(effect, Published):
            elapsed_s = asyncio.get_running_loop().time() - self._started_s
            round_number = int(elapsed_s / self.scenario.period_s) if self._started_s else 0
            in_run = min(round_number, self.scenario.rounds)
            self.book.published(effect.id, in_run, len(self.endpoints))

    def _start_offering(self, name: str) -> None:
        interval_s = self.scenario.sender_count / self.scenario.offered_msgs_per_s
        loop = asyncio.get_running_loop()
        self._schedule(name, loop.time() + self._random.random() * interval_s, interval_s)

    def _schedule(self, name: str, at_s: float, interval_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._handles[name] = loop.call_at(at_s, self._offer, name, at_s, interval_s)

    def _offer(self, name: str, at_s: float, interval_s: float) -> None:
        endpoint = self.endpoints[name]
        if len(endpoint.host.peers[self._group].waiting) < BLOCKED_AT:
            endpoint.tell(InGroup(self._group, Publish(0, self._payload)))
        self._schedule(name, at_s + interval_s, interval_s)

    # -- what came of it --------------------------------------------------------------------

    def _drops(self) -> tuple[int, int]:
        peers = [each.host.peers[self._group] for each in self.endpoints.values()]
        return sum(peer.dropped for peer in peers), sum(peer.dropped_age_sum for peer in peers)

    def _result(self) -> GossipResult:
        count, ages = self._drops()
        count -= self._drops_at_warm_up[0]
        ages -= self._drops_at_warm_up[1]
        sizes = [
            each.host.peers[self._group].adaptation.group_size.size
            for each in self.endpoints.values()
        ]
        return self.book.result(
            self.seed,
            allowed_by_round=self._allowed,
            drop_age=ages / count if count > 0 else float("nan"),
            group_size=sum(sizes) / len(sizes),
        )


def run_live(scenario: GossipScenario, seed: int) -> GossipResult:
    """One run over UDP on this machine."""
    return run_and_keep_count(scenario, seed)[0]


def run_and_keep_count(scenario: GossipScenario, seed: int) -> tuple[GossipResult, float]:
    """One run, and which share of its rounds the median peer got round to.

    A machine that is busy with other work leaves rounds out, and a group that misses rounds
    carries less for each of them.
    """
    group = LiveGroup(scenario, seed)
    result = uvloop.run(group.run())
    rounds = [
        endpoint.host.peers[scenario.parameters.group].buffer.round
        for endpoint in group.endpoints.values()
    ]
    return result, median(rounds) / scenario.rounds


def live_scenario(law: Law, *, peers: int = 60, rounds: int = 240) -> GossipScenario:
    """The dynamic-buffer run, live."""
    share_msgs_per_s = LIVE_RATE_MSGS_PER_S / 60
    parameters = GossipParameters(
        group="live",
        law=law,
        gossip_period_ns=LIVE_PERIOD_NS,
        buffer_events=30,
        adaptation=AdaptationParameters(
            initial_rate_msgs_per_s=share_msgs_per_s, lowest_rate_msgs_per_s=0.2
        ),
    )
    return GossipScenario(
        name=f"gossip-live-{law}",
        purpose="The dynamic-buffer run over UDP",
        parameters=parameters,
        peers=peers,
        offered_msgs_per_s=share_msgs_per_s * peers,
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


def live_rows(progress: Callable[[str], None]) -> list[PaperRow]:
    """The live runs as rows of the table."""
    results: dict[str, GossipResult] = {}
    kept: dict[str, float] = {}
    laws: tuple[Law, ...] = ("none", "paper", "improved")
    for law in laws:
        progress(f"gossip: live, 60 peers over UDP, law {law} (24 s)")
        results[law], kept[law] = run_and_keep_count(live_scenario(law), 1)
    progress("gossip: live, with loss and churn (24 s)")
    results["storm"], kept["storm"] = run_and_keep_count(stormy_scenario(), 1)
    run_name = "Live: 60 peers over UDP, T = 100 ms, buffers 30 → 15 → 20"
    rate_unit = LIVE_PERIOD_NS / SECOND
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
            paper_law=[results["paper"].input_rate_msgs_per_s * rate_unit],
            improved_law=[results["improved"].input_rate_msgs_per_s * rate_unit],
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
