"""What a paper's table and figures are measured from: kinds of runs, each without its seed.

1. An ``Experiment`` is a scenario file with some values replaced, in one of the worlds.
2. A ``Computation`` is a function of the seed, for the few numbers that no scenario gives.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Measurement, Scenario
from penstock.lab.scenario.overrides import overridden
from penstock.lab.scenario.shortened import shortened
from penstock.lab.worlds.choice import world_of
from penstock.services.registry import descriptions

World: TypeAlias = Literal["sim", "net", "arrays"]


class Experiment(msgspec.Struct, frozen=True):
    """One kind of run of a scenario."""

    scenario: str
    """A file, or the name of a scenario that comes with the paper of a service."""
    overrides: dict[str, Any] = {}
    """Values by path into the file, as ``penstock sweep --param`` has them, such as
    ``links.pb-ib.bandwidth_bytes_per_s`` or ``parameters.guaranteed.congestion.law``."""
    world: World = "sim"
    shorten: float = 1.0
    """All times of the scenario are divided by this."""
    namespaces: bool = False
    """In the net world: over network namespaces, where the kernel limits the links."""
    most_seeds: int = 1000
    effort: int = 0
    """Runs with a larger effort begin first, so that no processor is idle at the end."""


class Computation(msgspec.Struct, frozen=True):
    """Numbers by name, computed once for each seed by a function of a module."""

    function: Callable[[int], Mapping[str, float]]
    world: World = "sim"
    """``net`` if it starts processes on this machine, and must not run beside others."""
    most_seeds: int = 1000
    effort: int = 0


Source: TypeAlias = Experiment | Computation

Measure: TypeAlias = Measurement | Callable[[RunResult], float] | str
"""A number of a run: a measurement, a function of a module (or a ``functools.partial`` of one), or
the name of a computation's number."""


def in_net(source: Source) -> bool:
    """Whether it runs as processes on this machine."""
    return source.world == "net"


def scenario_path(name: str) -> Path:
    """The file of a scenario: a path, or the name of one that comes with a service's paper."""
    if name.endswith(".toml"):
        return Path(name)
    found = [path for folder in _folders() if (path := folder / f"{name}.toml").exists()]
    if len(found) != 1:
        raise FileNotFoundError(f"{len(found)} papers have a scenario {name!r}; need one")
    return found[0]


def _folders() -> Iterator[Path]:
    """Where the scenarios of the services' papers are."""
    for each in descriptions():
        spec = find_spec(each.papers.partition(":")[0]) if each.papers else None
        if spec is not None and spec.origin is not None:
            yield Path(spec.origin).parent / "scenarios"


def scenario_of(experiment: Experiment) -> Scenario:
    """The scenario with the experiment's values; raises ``ScenarioError``."""
    raw = tomllib.loads(scenario_path(experiment.scenario).read_text(encoding="utf-8"))
    scenario = parse_scenario(overridden(raw, experiment.overrides))
    return shortened(scenario, experiment.shorten)


def run_experiment(experiment: Experiment, seed: int) -> RunResult:
    """Run it from beginning to end."""
    scenario = scenario_of(experiment)
    return run(world_of(experiment.world, scenario, seed, namespaces=experiment.namespaces))
