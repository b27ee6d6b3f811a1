"""The optimum of a network that is shared by flows: max-min fair, or α-fair.

A flow takes ``uses[link]`` bytes of a link for each byte that its source sends, and wants at most
its demand.

1. *Max-min* by progressive filling: all rates rise together; a flow stops at its demand, or when a
   link that it uses is full.  With positive capacities the result is exact and unique.
2. *α-fair*: the rates that maximise Σ w · R^(1-α) / (1-α), which is the equilibrium of senders that
   want R = (w / p)^(1/α) at the sum p of the prices of their links.  A concave programme with
   linear bounds, solved numerically.
3. The *prices* of an α-fair optimum are the multipliers of its full links: they explain the rate of
   every flow that gets less than its demand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

TOLERANCE: Final = 1e-9
"""Relative; far above the rounding of sums of a few numbers, far below what anybody measures."""

STEPS: Final = 1000
"""Of the solver; a case has at most a dozen flows, for which a few dozen steps are enough."""


class SharedFlow(msgspec.Struct, frozen=True):
    """What a flow wants, and what it takes of each link for each byte of its source."""

    name: str
    uses: Mapping[str, float]
    demand: float
    weight: float = 1.0


class NoOptimum(ArithmeticError):
    """The solver did not converge."""


def max_min(capacities: Mapping[str, float], flows: Sequence[SharedFlow]) -> dict[str, float]:
    """The max-min fair rate of each flow, by name.  Weights do not count."""
    rates: dict[str, float] = {}
    left = dict(capacities)
    rising = list(flows)
    while rising:
        level = min(_level(left, rising), min(each.demand for each in rising))
        full = {link for link, at in _levels(left, rising).items() if at <= level * (1 + TOLERANCE)}
        stopped = [
            each
            for each in rising
            if each.demand <= level * (1 + TOLERANCE) or not full.isdisjoint(each.uses)
        ]
        for flow in stopped:
            rates[flow.name] = min(level, flow.demand)
            for link, use in flow.uses.items():
                left[link] = max(0.0, left[link] - use * rates[flow.name])
        names = {each.name for each in stopped}
        rising = [each for each in rising if each.name not in names]
    return {each.name: rates[each.name] for each in flows}


def _levels(left: Mapping[str, float], rising: Sequence[SharedFlow]) -> dict[str, float]:
    """The rate at which each link is full, if all flows that still rise have the same rate."""
    use: dict[str, float] = {}
    for flow in rising:
        for link, each in flow.uses.items():
            use[link] = use.get(link, 0.0) + each
    return {link: left[link] / each for link, each in use.items() if each > 0}


def _level(left: Mapping[str, float], rising: Sequence[SharedFlow]) -> float:
    return min(_levels(left, rising).values(), default=float("inf"))


def alpha_fair(
    capacities: Mapping[str, float], flows: Sequence[SharedFlow], alpha: float
) -> dict[str, float]:
    """The α-fair rate of each flow, by name; raises ``NoOptimum``."""
    # Imported here because only the extra ``lab`` brings it.
    from scipy.optimize import minimize

    start = max_min(capacities, flows)
    links, matrix = _matrix(capacities, flows)
    # In units of the max-min rates the unknowns are of the same size, whatever the links carry.
    unit = np.array([start[each.name] for each in flows])
    scale = np.array([capacities[each] for each in links])
    worth = np.array([each.weight**alpha for each in flows]) * unit ** (1 - alpha)
    worth = worth / worth.max()
    shares = matrix * unit / scale[:, None]
    most = np.array([min(each.demand, _alone(capacities, each)) for each in flows]) / unit

    found: Any = minimize(
        lambda x: -_benefit(x, worth, alpha),
        np.full(len(flows), 0.9),
        jac=lambda x: -worth * x**-alpha,
        method="SLSQP",
        bounds=[(1e-9, float(high)) for high in most],
        constraints={
            "type": "ineq",
            "fun": lambda x: 1 - shares @ x,
            "jac": lambda x: -shares,
        },
        options={"ftol": 1e-13, "maxiter": STEPS},
    )
    excess = float(np.max(shares @ found.x, initial=0.0))
    if not np.isfinite(found.x).all() or excess > 1 + 1e-6:
        raise NoOptimum(f"no α-fair rates for {[each.name for each in flows]}: {found.message}")
    rates = found.x * unit / max(1.0, excess)
    return {each.name: float(rate) for each, rate in zip(flows, rates, strict=True)}


def _benefit(rates: Vector, worth: Vector, alpha: float) -> float:
    if alpha == 1:
        return float(worth @ np.log(rates))
    return float(worth @ rates ** (1 - alpha)) / (1 - alpha)


def _alone(capacities: Mapping[str, float], flow: SharedFlow) -> float:
    return min((capacities[link] / use for link, use in flow.uses.items()), default=flow.demand)


def _matrix(
    capacities: Mapping[str, float], flows: Sequence[SharedFlow]
) -> tuple[list[str], npt.NDArray[np.float64]]:
    """The links that some flow uses, and what each flow takes of them."""
    links = [link for link in capacities if any(link in each.uses for each in flows)]
    return links, np.array([[each.uses.get(link, 0.0) for each in flows] for link in links])


def link_use(flows: Sequence[SharedFlow], rates: Mapping[str, float]) -> dict[str, float]:
    """Bytes a second on each link."""
    use: dict[str, float] = {}
    for flow in flows:
        for link, each in flow.uses.items():
            use[link] = use.get(link, 0.0) + each * rates[flow.name]
    return use


def prices(
    capacities: Mapping[str, float],
    flows: Sequence[SharedFlow],
    rates: Mapping[str, float],
    alpha: float,
    nearly: float = 1e-4,
) -> dict[str, float]:
    """The price of each full link of an α-fair optimum; links that are not full cost nothing.

    ``nearly`` is the part of a capacity or a demand by which a number of the solver may be off.
    """
    from scipy.optimize import nnls

    use = link_use(flows, rates)
    full = [link for link in use if use[link] >= capacities[link] * (1 - nearly)]
    limited = [each for each in flows if rates[each.name] < each.demand * (1 - nearly)]
    if not full or not limited:
        return {}
    wanted = np.array([(each.weight / rates[each.name]) ** alpha for each in limited])
    matrix = np.array([[each.uses.get(link, 0.0) for link in full] for each in limited])
    # Each row is divided by what it must give, so that every flow counts alike.
    found, _ = nnls(matrix / wanted[:, None], np.ones(len(limited)))
    return {link: float(price) for link, price in zip(full, found, strict=True)}
