"""Subscribers that read more slowly than publishers publish, at the source and far from it.

They leave the live stream and return to it; no subscriber is disconnected and no publisher waits.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.lab.oracle.guaranteed.history import GuaranteedHistory
from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Scenario
from penstock.lab.worlds.sim import SimRun
from penstock.services.guaranteed.edge.subscription import Subscription

BUFFER = 20_000
WINDOW = 10_000
ANSWER = 5_000
LARGEST_FRAME = 2_000
"""More than the size of a batch of four messages of 100 B."""

SUBSCRIBER = {"service": "guaranteed", "role": "subscriber"}

MESSAGES_PER_S = 800
SECONDS = 6


def scenario(slow_msgs_per_s: float, **slow: Any) -> dict[str, Any]:
    """A source and a far edge, each with a fast and a slow subscriber."""
    readers: list[dict[str, Any]] = []
    for broker in ("pb", "sb"):
        readers.append({**SUBSCRIBER, "name": f"quick-{broker}", "broker": broker})
        readers.append(
            {
                **SUBSCRIBER,
                "name": f"slow-{broker}",
                "broker": broker,
                "read_msgs_per_s": slow_msgs_per_s,
                "window_bytes": WINDOW,
                **slow,
            }
        )
    return {
        "name": "slow",
        "duration_s": SECONDS,
        "drain_s": 60,
        "trace_interval_s": 0.1,
        "parameters": {
            "guaranteed": {
                "session_buffer_bytes": BUFFER,
                "answer_bytes": ANSWER,
                # Far less than the backlog of a slow reader: the rest comes from the source's log.
                "relay_cache_bytes": 10_000,
            }
        },
        "brokers": [{"name": "pb", "pubends": 2}, {"name": "ib"}, {"name": "sb"}],
        "links": [
            {"between": ["pb", "ib"], "latency_ms": 5},
            {"between": ["ib", "sb"], "latency_ms": 5},
        ],
        "clients": [
            *readers,
            {
                "service": "guaranteed",
                "role": "publisher",
                "name": "p{i+1}",
                "count": 2,
                "broker": "pb",
                "pubend": "pb.{i+1}",
                "rate_msgs_per_s": MESSAGES_PER_S / 2,
                "batch_rows": 4,
                "payload_bytes": 100,
                "attributes": {"n": "cycle:0..3"},
            },
        ],
    }


class Watched(SimRun):
    """A simulated run that checks the memory of every subscription throughout."""

    def __init__(self, parsed: Scenario, seed: int) -> None:
        super().__init__(parsed, seed, checked=True)
        self.most_held = 0
        self.times_slow: dict[str, int] = {}
        self._at_s = 0.0

    def run_until(self, at_s: float) -> None:
        """Run in short steps, and check the held bytes after each step."""
        while self._at_s < at_s:
            self._at_s = min(at_s, self._at_s + 0.01)
            super().run_until(self._at_s)
            for subscription in self._subscriptions():
                self.most_held = max(self.most_held, held(subscription))
                self.times_slow[subscription.name] = subscription.times_slow

    def _subscriptions(self) -> list[Subscription]:
        nodes = [broker.node for broker in self.world.brokers.values() if broker.node is not None]
        return [each for node in nodes for each in node.services["guaranteed"].edge.subscriptions()]


def held(subscription: Subscription) -> int:
    ahead = sum(stream.weight for stream in subscription.catching_up.values())
    return subscription.buffered_bytes + ahead


def bound(streams: int) -> int:
    """Bytes that wait or were held ahead on each stream, and the answers in flight."""
    return BUFFER + streams * (BUFFER + ANSWER + LARGEST_FRAME)


def history_of(result: RunResult) -> GuaranteedHistory:
    history = result.histories["guaranteed"]
    assert isinstance(history, GuaranteedHistory)
    return history


def judged(document: dict[str, Any], seed: int) -> tuple[Watched, GuaranteedHistory]:
    world = Watched(parse_scenario(document), seed)
    result = run(world)
    assert result.judgement.violations == 0, f"seed {seed}: {result.judgement.examples}"
    assert result.judgement["announced_lost"] == 0
    assert all(client.connections == 1 for client in world.world.clients.values())
    assert world.most_held <= bound(streams=2)
    history = history_of(result)
    published = sum(len(each) for each in history.publishers.values())
    assert published >= 0.99 * MESSAGES_PER_S * SECONDS, "the publishers were throttled"
    return world, history


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("selector", ["", "n < 2"])
def test_slow_subscribers_get_everything_once_and_in_order(seed: int, selector: str) -> None:
    world, history = judged(scenario(300 if not selector else 200, selector=selector), seed)
    for name in ("slow-pb", "slow-sb"):
        assert 1 <= world.times_slow[name] <= 4, "on two streams, without oscillation"
        received = history.subscribers[name]
        quick = history.subscribers[name.replace("slow", "quick")]
        share = 1 if not selector else 2 / 3
        assert len(received) == pytest.approx(share * len(quick), rel=0.02)


def test_a_reader_that_barely_reads_needs_little_memory() -> None:
    world, history = judged(scenario(1, stop_s=SECONDS), seed=1)
    for name in ("slow-pb", "slow-sb"):
        assert world.times_slow[name] == 2
        assert 0 < len(history.subscribers[name]) < 100


def test_a_reader_that_almost_keeps_up_seldom_switches_streams() -> None:
    document = scenario(0.95 * MESSAGES_PER_S)
    document["duration_s"] = 30
    world, _ = judged(document, seed=1)
    for name in ("slow-pb", "slow-sb"):
        assert 1 <= world.times_slow[name] <= 4, "in half a minute, on two streams"


@pytest.mark.parametrize("law", ["improved", "paper"])
def test_publishers_do_not_wait_for_a_slow_subscriber_behind_a_thin_link(law: str) -> None:
    """Its reads must not take the link from live data, or the edge would raise alerts."""
    document = scenario(MESSAGES_PER_S / 4)
    document["duration_s"] = 20
    document["parameters"]["guaranteed"] |= {"answer_bytes": 1 << 20, "congestion": {"law": law}}
    # Live data takes four fifths of the link, and an answer of the largest size seven seconds.
    document["links"][1]["bandwidth_bytes_per_s"] = 150_000
    document["clients"] = [
        each | {"stop_s": 20} if each["name"] == "slow-sb" else each
        for each in document["clients"]
        if each["name"] != "slow-pb"
    ]
    world = Watched(parse_scenario(document), 1)
    result = run(world)

    assert world.times_slow["slow-sb"]
    assert [each for each in world.telemetry.records if each.metric == "throttle"] == []
    assert result.judgement.violations == 0
    assert len(history_of(result).subscribers["slow-sb"]) > 500
