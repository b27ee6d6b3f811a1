"""A paper as data: its experiments, the rows of its table and its figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec

import msgspec

from penstock.core.configuration import suggestion
from penstock.lab.experiments.experiment import Source, in_net
from penstock.lab.experiments.figure import Figure
from penstock.lab.experiments.results import Of
from penstock.lab.experiments.row import Row
from penstock.services.description import load
from penstock.services.registry import description, descriptions


class PaperError(ValueError):
    """A paper refers to something that it does not have, or nothing matches a name."""


class Selection(msgspec.Struct, frozen=True):
    """A part of a paper: rows and figures, and the experiments that are run for them."""

    rows: tuple[Row, ...]
    figures: tuple[Figure, ...]
    experiments: frozenset[str]

    def measures(self) -> Iterator[Of]:
        """Everything that is measured; of figures, as far as it is run."""
        for row in self.rows:
            yield from row.needed()
        for figure in self.figures:
            yield from (each for each in figure.measures() if each.experiment in self.experiments)

    def without(self, experiments: frozenset[str]) -> Selection:
        """The rows and figures that need none of these."""
        return Selection(
            tuple(row for row in self.rows if not row.experiments() & experiments),
            tuple(each for each in self.figures if not each.experiments() & experiments),
            self.experiments - experiments,
        )


class Paper(msgspec.Struct, frozen=True):
    """What ``penstock papers`` runs for a service."""

    service: str
    title: str
    experiments: dict[str, Source]
    rows: tuple[Row, ...]
    figures: tuple[Figure, ...] = ()

    def __post_init__(self) -> None:
        """Check every reference to an experiment."""
        for row in self.rows:
            where = f"row {row.run!r}, {row.metric!r}"
            _check(where, row.experiments(), self.experiments)
            if not (row.paper_law or row.improved_law):
                raise PaperError(f"{where}: set paper_law or improved_law")
        for figure in self.figures:
            _check(f"figure {figure.name!r}", figure.experiments(), self.experiments)

    def names(self) -> tuple[str, ...]:
        """What can be chosen: the labels of rows, then experiments."""
        return tuple(dict.fromkeys((*(row.run for row in self.rows), *self.experiments)))

    def of_world(self, world: str) -> Selection:
        """All rows and figures that need processes, or all that do not."""
        net = world == "net"
        rows = tuple(each for each in self.rows if self._in_net(each.experiments()) == net)
        figures = tuple(each for each in self.figures if self._in_net(each.experiments()) == net)
        run = _experiments(rows) | _experiments(figures)
        return Selection(rows, figures, run)

    def chosen(self, run: str, world: str = "sim") -> Selection:
        """One experiment by its key, or the rows whose label begins so; empty if there is none.

        Rows of another world are chosen only if this one has none.
        """
        if run in self.experiments:
            return self.only(frozenset((run,)))
        for rows in (self.of_world(world).rows, self.rows):
            found = tuple(row for row in rows if row.run.casefold().startswith(run.casefold()))
            if found:
                break
        experiments = _experiments(found)
        figures = tuple(each for each in self.figures if each.experiments() & experiments)
        return Selection(found, figures, experiments)

    def only(self, experiments: frozenset[str]) -> Selection:
        """What these experiments are enough for; figures show their curves alone."""
        rows = (row.of_experiments(experiments) for row in self.rows)
        figures = tuple(each for each in self.figures if each.experiments() & experiments)
        return Selection(tuple(row for row in rows if row is not None), figures, experiments)

    def _in_net(self, experiments: Iterable[str]) -> bool:
        return any(in_net(self.experiments[each]) for each in experiments)


def installed_services() -> list[str]:
    """The services whose papers are part of this installation, in order."""
    return [each.name for each in descriptions() if _is_installed(each.papers)]


def _is_installed(entry_point: str) -> bool:
    return bool(entry_point) and find_spec(entry_point.partition(":")[0]) is not None


def paper_of(service: str) -> Paper:
    """The paper of a service."""
    paper: Paper = load(description(service).papers)
    return paper


def _experiments(of: Sequence[Row | Figure]) -> frozenset[str]:
    return frozenset[str]().union(*(each.experiments() for each in of))


def _check(where: str, used: Iterable[str], known: Iterable[str]) -> None:
    for each in used:
        if each not in known:
            raise PaperError(f"{where}: there is no experiment {each!r}; {suggestion(each, known)}")
