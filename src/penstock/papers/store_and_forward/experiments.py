"""The runs of the alias queue paper: the flow control of Section V.B, and the overhead of Figure 4.

The live runs of Section V.B have the real rates and a twentieth of the time: first period, MAX_LOAD
and the exchange of rates are a twentieth as well.  The control loop runs four times as often, for
four times the overhead: rates that are measured over less than half a second are mostly noise.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.core.clock import SECOND
from penstock.lab.experiments.experiment import Computation, Experiment, Source, World
from penstock.papers.store_and_forward.elasticity import elastic, few, many
from penstock.papers.store_and_forward.saturation import overhead

SHORTER: Final = 20
QUICKER_LOOP: Final = 4
LIVE_ROUNDS: Final = 3

FILES: Final = {"50/50": "balanced", "70/30": "unbalanced", "inverted": "inverted"}

POLICIES: Final[dict[str, dict[str, Any]]] = {
    "round-robin": {"balancing": "round-robin"},
    "paper": {"law": "paper", "first_period_ns": 10 * SECOND},
    "improved": {"law": "improved", "first_period_ns": 10 * SECOND},
    "quick improved": {"law": "improved", "first_period_ns": SECOND},
}
"""Keys of the alias queues.  The improved law needs only a first period of 1 s ("quick")."""

FLOODED: Final = {"duration_s": 840, "clients.producer.stop_s": 503}
"""Under round-robin the slower consumer has work for 330 s more; the figure shows them."""

SLEEPING: Final = {"direct": "work@two", "alias": "orders", "two queues": "shared"}
"""Where the producer of experiments 5 to 7 sends."""


def _experiment(
    name: str, policy: str, world: World = "sim", shorten: int = 1, **more: Any
) -> Experiment:
    keys = {**POLICIES[policy], **more}
    if "first_period_ns" in keys:
        keys["first_period_ns"] //= shorten
    overrides = {f"brokers.home.aliases.orders.{key}": value for key, value in keys.items()}
    if (name, policy) == ("70/30", "round-robin"):
        overrides |= FLOODED
    rounds = LIVE_ROUNDS if world == "net" else 1000
    return Experiment(f"queues-{FILES[name]}", overrides, world, shorten, most_seeds=rounds)


def _shorter(name: str, policy: str, world: World) -> Experiment:
    overhead, max_load = 0.001 * QUICKER_LOOP, 3000 // SHORTER
    return _experiment(name, policy, world, SHORTER, overhead=overhead, max_load_messages=max_load)


SIMULATED: Final = {
    f"{name} {policy}": _experiment(name, policy)
    for name in FILES
    for policy in POLICIES
    if (name, policy) not in (("50/50", "improved"), ("inverted", "round-robin"))
}
COMPRESSED: Final = {
    f"{name} in 1/20 {policy}": _shorter(name, policy, "sim")
    for name in FILES
    for policy in ("paper", "quick improved")
}
LIVE: Final = {
    f"{name} live {policy}": _shorter(name, policy, "net")
    for name in FILES
    for policy in ("paper", "quick improved", "round-robin")
    if policy != "round-robin" or name == "70/30"
}
OVERHEAD: Final[dict[str, Source]] = {
    "saturated": Computation(overhead, world="net"),
    **{
        f"sleeping {label}": Experiment("queues-two-servers", {"clients.producer.queue": to}, "net")
        for label, to in SLEEPING.items()
    },
}
ELASTICITY: Final[dict[str, Source]] = {
    f"workers {name}": Computation(function)
    for name, function in (("elastic", elastic), ("few", few), ("many", many))
}
EXPERIMENTS: Final[dict[str, Source]] = {
    **SIMULATED, **COMPRESSED, **ELASTICITY, **LIVE, **OVERHEAD,
}  # fmt: skip
