"""Scenario files of services that have a form of their own, and the function that runs each.

A file with ``service = "…"`` belongs to that service; every other one is about brokers
(scenario/file.py).  The description of a service names in ``scenario`` a function that takes the
file (or the tables of one, after a sweep has changed values), a world and a seed, and returns a
``ServiceRun``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from penstock.core.configuration import parse_toml, raised_as, read_table
from penstock.lab.scenario.expectations import Verdict
from penstock.lab.scenario.file import ScenarioError
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.services.description import load
from penstock.services.registry import descriptions

Form = TypeVar("Form", bound=msgspec.Struct)

Source: TypeAlias = Path | Mapping[str, Any]
"""A file, or the tables of one."""

Progress = Callable[[float], None]
"""Hears at which second of the scenario the run is."""


class ServiceOutcome(msgspec.Struct, frozen=True):
    """What came of a run."""

    headline: str
    """One line for people."""
    measured: dict[str, Any]
    """Everything that was measured, by name."""
    verdicts: list[Verdict]


class ServiceRun(Protocol):
    """A scenario that was read, for one world and one seed."""

    @property
    def name(self) -> str:
        """The scenario's."""
        ...

    @property
    def duration_s(self) -> float:
        """How long it takes on its own clock."""
        ...

    @property
    def measures(self) -> Mapping[str, str]:
        """The numbers that a simulation of it measures, each with what it is; the first is what
        the scenario is about."""
        ...

    def run(self, telemetry: Telemetry, progress: Progress) -> ServiceOutcome:
        """Run it from beginning to end."""
        ...


class TimedScenario(Protocol):
    """What every service's scenario says."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def duration_s(self) -> float:
        """How long it takes on its own clock."""
        ...


Timed = TypeVar("Timed", bound=TimedScenario)


class ScenarioRun(msgspec.Struct, Generic[Timed], frozen=True):
    """A scenario as a world runs it: what the services' ``ServiceRun`` have in common."""

    scenario: Timed
    world: str
    seed: int

    @property
    def name(self) -> str:
        """The scenario's."""
        return self.scenario.name

    @property
    def duration_s(self) -> float:
        """How long it takes on its own clock."""
        return self.scenario.duration_s


def runnable() -> dict[str, str]:
    """The services that have scenarios of their own, and what reads them."""
    return {each.name: each.scenario for each in descriptions() if each.scenario}


def service_of(path: Path) -> str | None:
    """Which of these services a file belongs to; None if to none, or if it cannot be read."""
    try:
        service = _tables(path).get("service")
    except (OSError, ValueError):
        return None
    return service if isinstance(service, str) and service in runnable() else None


def read_as(source: Source, kind: type[Form]) -> Form:
    """A scenario in a service's own form; the ``ScenarioError`` names the file and the key."""
    with raised_as(ScenarioError, source if isinstance(source, Path) else None):
        raw = _tables(source) if isinstance(source, Path) else source
        return read_table(kind, raw, str_keys=True)


def _tables(path: Path) -> dict[str, Any]:
    return parse_toml(path.read_text(encoding="utf-8"))


def prepare(service: str, source: Source, world: str, seed: int) -> ServiceRun:
    """Read a scenario; raises ``ScenarioError``."""
    prepared: ServiceRun = load(runnable()[service])(source, world, seed)
    return prepared
