"""``penstock scenario``: checks, converts and makes scenario files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cyclopts import App

from penstock.cli.errors import MISUSED, UserError, told_in_one_line
from penstock.core.configuration import read_file, suggestion
from penstock.core.toml_text import toml_text
from penstock.lab.scenario.convert.convert import converted
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.file import load_scenario, parse_scenario
from penstock.lab.scenario.model import Scenario
from penstock.lab.scenario.numbering import expanded
from penstock.lab.scenario.random_scenario import random_scenario
from penstock.lab.scenario.schema import schema_text
from penstock.lab.scenario.write import to_toml
from penstock.lab.service import lab_services

scenario = App(name="scenario", help="Check, convert and make scenario files.")


@scenario.command
def check(file: Path, /) -> None:
    """Read a scenario file as a run would, and print what is in it.

    Parameters
    ----------
    file
        A scenario file (docs/reference/scenario.md).
    """
    with told_in_one_line(ScenarioError, status=MISUSED):
        plan = load_scenario(file)
    print("\n".join(summary(plan)))


@scenario.command
def convert(file: Path, /, *, out: Path | None = None) -> None:
    """Convert a scenario file of a former form; comments are not kept.

    Parameters
    ----------
    file
        The file of a former form.
    out
        Where to write the file of the present form; by default it is printed.
    """
    with told_in_one_line(ScenarioError, status=MISUSED):
        tables = read_file(file, ScenarioError, converted)
        try:
            parse_scenario(tables)
        except ScenarioError as error:
            raise ScenarioError(f"{file}: after the conversion: {error}") from None
    _write(toml_text(tables), out)


@scenario.command
def random(*, seed: int = 1, services: str = "guaranteed", out: Path | None = None) -> None:
    """Make a random scenario: a topology, a workload and faults under which no promise may break.

    Parameters
    ----------
    seed
        The same seed gives the same scenario.
    services
        The services that have clients, with commas between them.
    out
        Where to write the file; by default it is printed.
    """
    chosen = services.split(",")
    for service in chosen:
        if service not in lab_services():
            raise UserError(
                f"--services: there is no service {service!r}; "
                f"{suggestion(service, lab_services())}",
                MISUSED,
            )
    _write(to_toml(random_scenario(seed, chosen)), out)


@scenario.command
def schema(*, out: Path | None = None) -> None:
    """Print the JSON schema of scenario files, for editors.

    Parameters
    ----------
    out
        Where to write the schema; by default it is printed.
    """
    _write(schema_text(), out)


def _write(text: str, out: Path | None) -> None:
    if out is None:
        print(text, end="")
        return
    with told_in_one_line(OSError):
        out.write_text(text, encoding="utf-8")


def summary(plan: Scenario) -> Iterator[str]:
    """What is in a scenario, line by line."""
    single = expanded(plan)
    yield f"{plan.name}: {plan.duration_s:g} s, then at most {plan.drain_s:g} s until all arrived"
    if plan.description:
        yield f"  {plan.description}"
    yield f"  brokers: {len(single.brokers)}, links: {len(single.links)}"
    for service in single.services:
        roles = Counter(each.role for each in single.clients if each.service == service)
        told = ", ".join(_several(count, role) for role, count in roles.items())
        yield f"  clients of {service}: {told}"
    if single.cross_traffic:
        yield f"  cross traffic: {', '.join(each.name for each in single.cross_traffic)}"
    changes = sum(len(each.changes) for each in single.links)
    if changes:
        yield f"  changes of links: {changes}"
    faults = Counter(kind for each in single.faults for kind in each.kinds)
    yield f"  faults: {', '.join(f'{count} {kind}' for kind, count in faults.items()) or 'none'}"
    yield f"  expectations: {len(single.expect)}"


def _several(count: int, role: str) -> str:
    return f"{count} {role}" if count == 1 else f"{count} {role}s"
