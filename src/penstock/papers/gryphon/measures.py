"""What the table of the Gryphon paper measures in a run beyond single metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.curves import Curve, curve, mean_between
from penstock.lab.telemetry.measure import jain
from penstock.services.guaranteed.telemetry import ThrottleDetail

CAUGHT_UP_S: Final = 2.0
"""An edge has recovered when no stream of it lags more than this."""

LONGEST_S: Final = 90.0
"""Publication during a recovery is measured for this long at most."""

PUBLISHED: Final = Measurement(metric="published_messages")


def recovery_s(result: RunResult, edge: str, mended_s: float) -> float:
    """Seconds from the repair of a link until the edge behind it has caught up."""
    lag = curve(result, Measurement(metric="doubt_horizon_lag_s", node=edge), "max")
    return caught_up_s(lag, mended_s)


def caught_up_s(lag: Curve, mended_s: float) -> float:
    """Seconds from a repair until a lag is short."""
    for at_s, value in lag:
        if at_s > mended_s + 1 and value < CAUGHT_UP_S:
            return at_s - mended_s
    return float("inf")


def return_s(result: RunResult, edge: str, mended_s: float) -> float:
    """Seconds from the end of a recovery until 450 messages a second are published again."""
    recovered_s = mended_s + recovery_s(result, edge, mended_s)
    return first_at_least(curve(result, PUBLISHED, "rate"), 450, recovered_s)


def use_s(result: RunResult, subscriber: str, rate_msgs_per_s: float, after_s: float) -> float:
    """Seconds from a change until a subscriber receives at a rate."""
    delivered = curve(result, Measurement(metric="delivered", subject=subscriber), "rate")
    return first_at_least(delivered, rate_msgs_per_s, after_s)


def first_at_least(values: Curve, wanted: float, after_s: float) -> float:
    """Seconds from ``after_s`` until a curve, averaged over three seconds, reaches a value."""
    later = [(at_s, value) for at_s, value in values if at_s >= after_s]
    for place in range(2, len(later)):
        if sum(value for _, value in later[place - 2 : place + 1]) / 3 >= wanted:
            return later[place][0] - after_s
    return float("inf")


def published_rate(result: RunResult, low_s: float, high_s: float) -> float:
    """The rate of all pubends in an interval."""
    return mean_between(curve(result, PUBLISHED, "rate"), low_s, high_s)


def spike(result: RunResult, edge: str, subscriber: str, mended_s: float) -> float:
    """The largest rate of a subscriber at the end of its recovery, by its rate during it."""
    end_s = mended_s + recovery_s(result, edge, mended_s)
    delivered = curve(result, Measurement(metric="delivered", subject=subscriber), "rate")
    during = mean_between(delivered, mended_s + 10, mended_s + 50)
    peak = max(value for at_s, value in delivered if mended_s + 50 < at_s < end_s + 5)
    return peak / max(during, 1.0)


def nack_window(result: RunResult, edge: str, mended_s: float, *, end: bool) -> float:
    """The NACK window in the middle third of a recovery, by that in its first second.

    With ``end`` the largest one of the recovery, by that in its middle third.
    """
    took_s = recovery_s(result, edge, mended_s)
    window = curve(result, Measurement(metric="nack_window_s", node=edge), "mean")
    plateau = mean_between(window, mended_s + took_s / 3, mended_s + 2 * took_s / 3)
    if end:
        largest = max(value for at_s, value in window if 0 < at_s - mended_s < took_s + 3)
        return largest / max(plateau, 1e-3)
    return plateau / max(mean_between(window, mended_s, mended_s + 1), 1e-3)


def share_named(result: RunResult, right: str, wrong: Sequence[str]) -> float:
    """The share of the right broker or link among all causes of limits that were named."""
    named = dict.fromkeys((right, *wrong), 0)
    for record in result.telemetry.records:
        if record.metric == "throttle":
            cause = msgspec.json.decode(record.detail, type=ThrottleDetail)
            for name in (cause.broker, cause.link):
                if name in named:
                    named[name] += 1
    total = sum(named.values())
    return named[right] / total if total else 0.0


def share_above(result: RunResult, edge: str, mended_s: float, rate: float) -> float:
    """The share of a recovery, after 6 s, in which an edge's horizon advances at a rate."""
    end_s = mended_s + recovery_s(result, edge, mended_s)
    values = [value for at_s, value in _horizon(result, edge) if mended_s + 6 <= at_s < end_s - 1]
    return sum(value >= rate for value in values) / max(1, len(values))


def peak_rate(result: RunResult, edge: str, after_s: float) -> float:
    """The largest rate of an edge's horizon, as a mean over its pubends."""
    return max(value for at_s, value in _horizon(result, edge) if at_s >= after_s)


def _horizon(result: RunResult, edge: str) -> Curve:
    return curve(result, Measurement(metric="doubt_horizon_rate", node=edge), "mean")


def published_during(result: RunResult, edge: str, mended_s: float) -> list[float]:
    """The rate of each pubend during a recovery."""
    end_s = mended_s + min(recovery_s(result, edge, mended_s), LONGEST_S)
    pubends = sorted({subject for _, subject in result.telemetry.series(PUBLISHED.metric)})
    each = (Measurement(metric=PUBLISHED.metric, subject=pubend) for pubend in pubends)
    return [mean_between(curve(result, one, "rate"), mended_s + 5, end_s) for one in each]


def publication_during(result: RunResult, edge: str, mended_s: float) -> float:
    """The rate of all pubends during a recovery."""
    return sum(published_during(result, edge, mended_s))


def pubends_jain(result: RunResult, edge: str, mended_s: float) -> float:
    """The fairness among the pubends during a recovery."""
    return jain(published_during(result, edge, mended_s))


def least_published(result: RunResult, low_s: float, high_s: float) -> float:
    """The least rate of all pubends in any second of an interval."""
    return min(rate for at_s, rate in curve(result, PUBLISHED, "rate") if low_s <= at_s < high_s)


def longest_recovery_s(result: RunResult, mended_s: Mapping[str, float]) -> float:
    """The longest recovery of several edges, whose links were repaired at these seconds."""
    return max(recovery_s(result, edge, at_s) for edge, at_s in mended_s.items())


def paths_gain(result: RunResult) -> float:
    """Publication while both of two equal paths are there, by that while one of them is cut."""
    return published_rate(result, 20, 60) / published_rate(result, 65, 75)


def byte_shares(result: RunResult, sizes: Mapping[str, int], low_s: float, high_s: float) -> float:
    """The least share of a pubend's bytes in an interval, by that of the others.

    ``sizes`` are the bytes of a message of each pubend.
    """
    rates = {
        pubend: mean_between(
            curve(result, Measurement(metric=PUBLISHED.metric, subject=pubend), "rate"),
            low_s,
            high_s,
        )
        for pubend in sizes
    }
    carried = [rates[pubend] * size for pubend, size in sizes.items()]
    return min(carried) / max(carried)
