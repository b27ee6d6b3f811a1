"""Converts the former form of a scenario of a gossip group, in which times were rounds.

1. The first peers published, and the first ones changed their buffers, a share of them at each
   change.  So the peers are divided where one of these numbers ends.
2. A churn replaced random peers, and every second one left without a goodbye.  Now the last peers
   are those that leave, and as many others join.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.core.clock import SECOND
from penstock.lab.scenario.convert.parts import (
    NotConvertible,
    bounds_of,
    chosen,
    head,
    listed,
    needed,
    number_of,
    only,
    tidy,
)

PERIOD_NS: Final = 5 * SECOND
BUFFER_EVENTS: Final = 90
PEERS: Final = 60
OFFERED_MSGS_PER_S: Final = 30.0
ROUNDS: Final = 300
WARM_UP_ROUNDS: Final = 100
SETTLE_ROUNDS: Final = 20

KNOWN: Final = (
    *("service", "name", "purpose", "parameters", "peers", "senders", "offered_msgs_per_s"),
    *("payload_bytes", "rounds", "warm_up_rounds", "settle_rounds", "changes", "churn", "loss"),
    "expect",
)


def convert_gossip(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The tables in the present form; raises ``NotConvertible``."""
    if "live_period_s" in raw:
        raise NotConvertible(
            "live_period_s: has no counterpart; remove it, and change the period and the times of "
            "the scenario for the network"
        )
    only(raw, KNOWN)
    if "churn" in raw and ("changes" in raw or raw.get("senders")):
        raise NotConvertible(
            "churn: cannot be converted together with changes or senders, because it chose peers "
            "at random; write the clients by hand"
        )
    rounds = int(number_of(raw, "rounds", ROUNDS))
    new = head(raw, tidy(rounds * _period_s(raw))) | {"drain_s": 0}
    if raw.get("parameters"):
        new["parameters"] = {"gossip": raw["parameters"]}
    if raw.get("loss"):
        new["peer_network"] = {"loss": raw["loss"]}
    peers = _churning(raw) if "churn" in raw else _staying(raw)
    return {**new, "clients": peers, "expect": _expectations(raw, rounds)}


def _period_s(raw: Mapping[str, Any]) -> float:
    period_ns = raw.get("parameters", {}).get("gossip_period_ns", PERIOD_NS)
    return float(period_ns) / SECOND


def _peer(raw: Mapping[str, Any], name: str, count: int, rate: float) -> dict[str, Any]:
    peer = {"service": "gossip", "role": "peer", "name": name, "count": count}
    if rate:
        peer["rate_msgs_per_s"] = tidy(rate)
    return peer | chosen(raw, "payload_bytes")


# -- peers that stay -------------------------------------------------------------------------------


def _staying(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    whole = int(number_of(raw, "peers", PEERS))
    senders = min(int(number_of(raw, "senders", 0)) or whole, whole)
    rate = number_of(raw, "offered_msgs_per_s", OFFERED_MSGS_PER_S) / senders
    changes = []
    for place, change in enumerate(listed(raw, "changes")):
        where = f"changes[{place}]."
        only(change, ("at_round", "share", "buffer_events"), where)
        at_s = tidy(needed(change, "at_round", where) * _period_s(raw))
        changed = round(needed(change, "share", where) * whole)
        changes.append((at_s, changed, needed(change, "buffer_events", where)))
    ends = sorted({whole, senders, *(count for _, count, _ in changes)} - {0})
    tables = []
    for begin, end in zip([0, *ends], ends, strict=False):
        name = "p{i}" if not begin else f"p{{i+{begin}}}"
        table = _peer(raw, name, end - begin, rate if end <= senders else 0.0)
        steps = [[at_s, size] for at_s, count, size in changes if end <= count]
        if steps:
            table["buffer_events"] = _from_the_start(raw, steps)
        tables.append(table)
    return tables


def _from_the_start(raw: Mapping[str, Any], steps: list[list[float]]) -> Any:
    """The steps of a buffer, with its first size; one size if it never changes."""
    if steps[0][0] > 0:
        first = raw.get("parameters", {}).get("buffer_events", BUFFER_EVENTS)
        steps = [[0, first], *steps]
    return steps[0][1] if len(steps) == 1 else steps


# -- peers that come and go ------------------------------------------------------------------------


def _churning(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    churn = raw["churn"]
    only(churn, ("from_round", "to_round", "share"), "churn.")
    whole = int(number_of(raw, "peers", PEERS))
    rate = number_of(raw, "offered_msgs_per_s", OFFERED_MSGS_PER_S) / whole
    gone = round(needed(churn, "share", "churn.") * whole)
    if gone < 1:
        raise NotConvertible("churn.share: no peer leaves; remove the table")
    from_s = needed(churn, "from_round", "churn.") * _period_s(raw)
    step_s = needed(churn, "to_round", "churn.") * _period_s(raw) - from_s
    step_s /= gone
    staying = [_peer(raw, "p{i}", whole - gone, rate)] if gone < whole else []
    leaving = []
    for number, stops in enumerate(("leave", "crash")):
        count = (gone + 1 - number) // 2
        if count:
            leaving.append(
                {
                    **_peer(raw, f"{stops}-{{i}}", count, rate),
                    "stop_s": tidy(from_s + number * step_s),
                    "stop_every_s": tidy(2 * step_s),
                    "stops": stops,
                }
            )
    joining = {
        **_peer(raw, "new-{i}", gone, rate),
        "start_s": tidy(from_s),
        "start_every_s": tidy(step_s),
    }
    return [*staying, *leaving, joining]


def _expectations(raw: Mapping[str, Any], rounds: int) -> list[dict[str, Any]]:
    names = ("receivers_at_least", "receivers_at_most", "input_rate_at_least", "atomic_at_least")
    bounds = bounds_of(raw, *names)
    window = {
        "from_s": tidy(number_of(raw, "warm_up_rounds", WARM_UP_ROUNDS) * _period_s(raw)),
        "to_s": tidy((rounds - number_of(raw, "settle_rounds", SETTLE_ROUNDS)) * _period_s(raw)),
    }
    expect: list[dict[str, Any]] = [{"metric": "violations", "at_most": 0}]
    for name, bound in bounds.items():
        what, _, side = name.rpartition("_at_")
        if what == "input_rate":
            measured: dict[str, Any] = {"metric": "published_rate"}
        else:
            measured = {"metric": what, "aggregate": "mean"}
        expect.append({**measured, **window, f"at_{side}": bound})
    return expect
