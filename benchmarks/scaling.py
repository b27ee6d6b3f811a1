"""Cost as work grows: brokers in a row, subscribers, selectors, pubends, message size.

    python -m benchmarks.scaling [--quick] [--figure FILE.png]

Every point is a small run in the simulator, which runs the brokers' own code, and the quantity is
processor time per unit of work, which excludes other load on the machine.  One quantity grows at a
time.  A *cliff* is where the cost per unit grows more than ``CLIFF`` times between two neighbours,
beyond the growth that the curve expects: a message with more matching selectors is split into more
deliveries.  The network and the disk are not included; benchmarks.throughput has those.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec

from penstock.lab.scenario.file import parse_scenario
from penstock.lab.worlds.sim import SimRun

WARM_UP_S: Final = 1.0
"""The first messages load modules and build indices."""

SIMULATED_S: Final = 3.0
REPEATED: Final = 3
"""A point is the minimum of this many runs: disturbances only increase the cost."""

MESSAGES_PER_S: Final = 8192
BATCH_ROWS: Final = 256
SMALL_BATCH_ROWS: Final = 16
CLIFF: Final = 2.5


class Point(msgspec.Struct, frozen=True):
    """A size of the quantity, and the cost per unit of work."""

    size: int
    cost_us: float


class Curve(msgspec.Struct, frozen=True):
    """One quantity that grows, and its unit of work."""

    name: str
    unit: str
    sizes: tuple[int, ...]
    scenario: Callable[[int], dict[str, Any]]
    work: Callable[[int, int, int], float]
    """Units of work from the size, the messages published and the messages delivered."""
    growth: float = 0.0
    """The power of the size with which the cost per unit may grow."""


PUBLISHER: Final = {
    "service": "guaranteed",
    "role": "publisher",
    "name": "p",
    "batch_rows": BATCH_ROWS,
    "identity": "tick",
    "rate_msgs_per_s": MESSAGES_PER_S,
}
SUBSCRIBER: Final = {"service": "guaranteed", "role": "subscriber", "window_bytes": 1 << 30}


def _scenario(
    pubends: dict[str, int],
    links: list[dict[str, Any]],
    publishers: dict[str, Any],
    subscribers: list[dict[str, Any]],
) -> dict[str, Any]:
    """Brokers with so many pubends each."""
    return {
        "name": "scaling",
        "duration_s": SIMULATED_S,
        "brokers": [{"name": name, "pubends": count} for name, count in pubends.items()],
        "links": links,
        "clients": [
            *({**SUBSCRIBER, **each} for each in subscribers),
            {**PUBLISHER, **publishers},
        ],
    }


def _row(count: int) -> dict[str, Any]:
    names = [f"b{number}" for number in range(count)]
    return _scenario(
        {name: 1 if name == "b0" else 0 for name in names},
        [{"between": [one, other]} for one, other in pairwise(names)],
        {"broker": "b0", "pubend": "b0.1"},
        [{"name": "s", "broker": names[-1]}],
    )


def _subscribers(count: int) -> dict[str, Any]:
    return _scenario(
        {"b": 1},
        [],
        {"broker": "b", "pubend": "b.1", "rate_msgs_per_s": MESSAGES_PER_S // 8},
        [{"name": "s", "broker": "b", "count": count}],
    )


def _selectors(count: int) -> dict[str, Any]:
    return _scenario(
        {"pb": 1, "sb": 0},
        [{"between": ["pb", "sb"]}],
        {"broker": "pb", "pubend": "pb.1", "attributes": {"kind": f"cycle:0..{count}"}},
        [
            {"name": f"s{number}", "broker": "sb", "selector": f"kind = {number}"}
            for number in range(count)
        ],
    )


def _pubends(count: int) -> dict[str, Any]:
    # The total rate and the batches are the same; each pubend has a part of the rate.
    return _scenario(
        {"pb": count, "sb": 0},
        [{"between": ["pb", "sb"]}],
        {
            "broker": "pb",
            "count": count,
            "pubend": "pb.{i+1}",
            "rate_msgs_per_s": MESSAGES_PER_S / count,
            "batch_rows": SMALL_BATCH_ROWS,
        },
        [{"name": "s", "broker": "sb"}],
    )


def _sizes(payload_bytes: int) -> dict[str, Any]:
    # The same number of bytes for every size, as far as a second has messages.
    rate = max(2, min(MESSAGES_PER_S, 100_000_000 // payload_bytes))
    rows = max(1, min(BATCH_ROWS, 1_000_000 // payload_bytes, rate // 2))
    return _scenario(
        {"pb": 1, "sb": 0},
        [{"between": ["pb", "sb"], "queue_bytes": 1 << 30}],
        {
            "broker": "pb",
            "pubend": "pb.1",
            "rate_msgs_per_s": rate,
            "batch_rows": rows,
            "payload_bytes": payload_bytes,
        },
        [{"name": "s", "broker": "sb"}],
    )


CURVES: Final = (
    Curve(
        "brokers in a row",
        "a message and broker",
        (1, 2, 4, 8),
        _row,
        lambda size, published, delivered: size * delivered,
    ),
    Curve(
        "subscribers of everything",
        "a delivered message",
        (1, 10, 100, 1000, 10_000),
        _subscribers,
        lambda size, published, delivered: delivered,
    ),
    Curve(
        "selectors",
        "a published message",
        (1, 10, 100, 1000, 10_000),
        _selectors,
        lambda size, published, delivered: published,
        growth=0.5,
    ),
    Curve(
        "pubends",
        "a message",
        (1, 4, 16, 64, 256, 1000),
        _pubends,
        lambda size, published, delivered: delivered,
    ),
    Curve(
        "bytes of a message",
        "a message, or a kB of it",
        (10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000),
        _sizes,
        lambda size, published, delivered: delivered * max(1.0, size / 1000),
    ),
)


def measure(curve: Curve, size: int) -> Point:
    """Processor time per unit of work at one size, without the setup."""
    world = SimRun(parse_scenario(curve.scenario(size)), 1)
    world.open()
    for client in world.scenario.clients:
        world.start_client(client, SIMULATED_S)
    world.run_until(WARM_UP_S)
    published, delivered = _counts(world)
    began = time.process_time()
    world.run_until(SIMULATED_S + 1)
    took_s = time.process_time() - began
    published_after, delivered_after = _counts(world)
    work = curve.work(size, published_after - published, delivered_after - delivered)
    assert work, f"{curve.name}, {size}: nothing was delivered"
    return Point(size, took_s / work * 1e6)


def _counts(world: SimRun) -> tuple[int, int]:
    """Published and delivered messages."""
    history = world.histories["guaranteed"]
    submitted = (count for _, metric, count in history.totals() if metric == "submitted")
    return sum(submitted), history.delivered


def cliffs(points: Iterable[Point], growth: float = 0.0) -> list[int]:
    """The sizes at which a unit of work becomes much more expensive."""
    return [
        after.size
        for before, after in pairwise(points)
        if after.cost_us > CLIFF * before.cost_us * (after.size / before.size) ** growth
    ]


def draw(curves: dict[str, list[Point]], units: dict[str, str], path: Path) -> None:
    """One panel for each quantity, both axes logarithmic."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(curves), figsize=(3.4 * len(curves), 3.2))
    for panel, (name, points) in zip(panels, curves.items(), strict=True):
        sizes = [each.size for each in points]
        panel.loglog(sizes, [each.cost_us for each in points], "o-")
        panel.set_xticks(sizes, [f"{size:g}" for size in sizes], rotation=45)
        panel.minorticks_off()
        panel.set_ylim(0.1, 1000)
        panel.set_xlabel(name)
        panel.set_ylabel(f"µs for {units[name]}")
        panel.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Measure every curve, print it, and name the cliffs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only the first two points of each")
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    curves: dict[str, list[Point]] = {}
    for curve in CURVES:
        sizes = curve.sizes[:2] if arguments.quick else curve.sizes
        points = curves[curve.name] = []
        for size in sizes:
            tries = [measure(curve, size).cost_us for _ in range(REPEATED)]
            points.append(Point(size, min(tries)))
            print(f"{curve.name:26} {size:>9,} {points[-1].cost_us:10.2f} µs for {curve.unit}")
        for size in cliffs(points, curve.growth):
            print(f"{curve.name:26} {size:>9,} is a cliff")
    if arguments.figure is not None:
        draw(curves, {curve.name: curve.unit for curve in CURVES}, arguments.figure)


if __name__ == "__main__":
    main()
