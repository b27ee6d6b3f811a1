"""A report as tables of text, the same for the terminal and for the page.

A few runs are shown in detail; many runs get one line each, compared with the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from penstock.spark.report.report import Report, Summary

MAX_DETAILED_RUNS: Final = 4
"""For more runs, the tables about single links and streams are only in the JSON."""

MAX_ROWS: Final = 60
"""Rows of a table for people; the JSON has all."""

NONE: Final = "–"


class Table(msgspec.Struct, frozen=True):
    """A title, columns (those of numbers marked), and rows of text."""

    title: str
    columns: tuple[tuple[str, bool], ...]
    rows: list[tuple[str, ...]]
    note: str = ""


Column = tuple[str, bool, Callable[[Any], str]]
"""A heading, whether the column is numeric, and a function that formats a row."""


def tables(report: Report) -> list[Table]:
    """All tables of a report that are not empty."""
    found = [_summary(report)]
    if len(report.runs) > 1:
        found.append(_comparison(report.runs))
    if len(report.runs) <= MAX_DETAILED_RUNS:
        details = [_bottlenecks(report), _recoveries(report), _links(report)]
        details += [_rates(report), _fairness(report), _queues(report)]
        found += details if len(report.runs) > 1 else map(_without_run, details)
    return [table for table in found if table.rows]


def _without_run(table: Table) -> Table:
    """The table without the run's name, for a single run."""
    rows = [row[1:] for row in table.rows]
    return Table(table.title, table.columns[1:], rows, table.note)


def _table(title: str, columns: Sequence[Column], rows: Iterable[Any], note: str = "") -> Table:
    texts = [tuple(text(row) for _, _, text in columns) for row in rows]
    if len(texts) > MAX_ROWS:
        note = f"{len(texts) - MAX_ROWS} more rows are in the JSON. {note}".strip()
    headings = tuple((name, numeric) for name, numeric, _ in columns)
    return Table(title, headings, texts[:MAX_ROWS], note)


def _text(name: str) -> Callable[[Any], str]:
    return lambda row: str(getattr(row, name)) or NONE


def _number(name: str, scale: float = 1.0, digits: int = 0) -> Callable[[Any], str]:
    def text(row: Any) -> str:
        value = getattr(row, name)
        return NONE if value is None else f"{scale * value:,.{digits}f}"

    return text


RUN: Final[Column] = ("run", False, _text("run"))


def _summary(report: Report) -> Table:
    columns: list[Column] = [
        RUN,
        ("s", True, _number("seconds")),
        ("published/s", True, _number("published_msgs_per_s", digits=1)),
        ("delivered/s", True, _number("delivered_msgs_per_s", digits=1)),
        ("lost", True, _number("lost")),
        ("twice", True, _number("duplicated")),
        ("dropped", True, _number("dropped_messages")),
        ("fullest link", False, _text("most_utilised_link")),
        ("used %", True, _number("utilisation", 100)),
        ("queue kB", True, _number("most_queued_bytes", 1e-3)),
        ("Jain pub", True, _number("pubend_jain", digits=3)),
        ("Jain sub", True, _number("subscription_jain", digits=3)),
        ("recovery s", True, _number("recovery_s", digits=1)),
        ("limited s", True, _number("limited_s")),
        ("bottleneck", False, _text("bottleneck")),
    ]
    unrecovered = [each.run for each in report.runs if each.unrecovered]
    note = f"Still behind at the end: {', '.join(unrecovered)}." if unrecovered else ""
    return _table("Runs", columns, report.runs, note)


COMPARED: Final = (
    ("published/s", "published_msgs_per_s"),
    ("delivered/s", "delivered_msgs_per_s"),
    ("dropped", "dropped_messages"),
    ("used", "utilisation"),
    ("queue", "most_queued_bytes"),
    ("Jain pub", "pubend_jain"),
    ("Jain sub", "subscription_jain"),
    ("recovery", "recovery_s"),
    ("limited", "limited_s"),
)


def _comparison(runs: Sequence[Summary]) -> Table:
    first = runs[0]

    def ratio(name: str) -> Callable[[Any], str]:
        def text(row: Any) -> str:
            value, base = getattr(row, name), getattr(first, name)
            if value is None or not base:
                return NONE
            return f"× {value / base:.2f}"

        return text

    columns: list[Column] = [RUN, *((title, True, ratio(name)) for title, name in COMPARED)]
    return _table(f"Compared with {first.run}", columns, runs[1:])


def _bottlenecks(report: Report) -> Table:
    columns: list[Column] = [
        RUN,
        ("broker", False, _text("broker")),
        ("link", False, _text("link")),
        ("limited, pubend-seconds", True, _number("limited_s")),
        ("share %", True, _number("share", 100)),
        ("pubends", True, _number("pubends")),
        ("decisions", True, _number("decisions")),
        ("lowest msg/s", True, _number("lowest_msgs_per_s", digits=1)),
    ]
    note = "The broker that did not keep up, and the fullest link on the path to it."
    return _table("What slowed the publishers down", columns, report.bottlenecks, note)


def _recoveries(report: Report) -> Table:
    columns: list[Column] = [
        RUN,
        ("broker", False, _text("broker")),
        ("behind from, s", True, _number("from_s", digits=1)),
        ("furthest, s", True, _number("furthest_s", digits=1)),
        ("recovery, s", True, _number("recovery_s", digits=1)),
    ]
    return _table("Edges that were behind", columns, report.recoveries)


def _links(report: Report) -> Table:
    columns: list[Column] = [
        RUN,
        ("link", False, _text("link")),
        ("sent kB", True, _number("sent_bytes", 1e-3)),
        ("kB/s", True, _number("mean_bytes_per_s", 1e-3, 1)),
        ("used %", True, _number("utilisation", 100, 1)),
        ("waiting %", True, _number("waiting_share", 100, 1)),
        ("largest queue kB", True, _number("most_queued_bytes", 1e-3, 1)),
        ("dropped", True, _number("dropped_messages")),
    ]
    note = "Waiting is the share of measurements with a non-empty queue."
    return _table("Links", columns, report.links, note)


def _rates(report: Report) -> Table:
    columns: list[Column] = [
        RUN,
        ("broker", False, _text("node")),
        ("subject", False, _text("subject")),
        ("counter", False, _text("metric")),
        ("messages", True, _number("messages")),
        ("mean/s", True, _number("mean_msgs_per_s", digits=1)),
        ("peak/s", True, _number("peak_msgs_per_s", digits=1)),
    ]
    return _table("Rates", columns, report.rates)


def _fairness(report: Report) -> Table:
    columns: list[Column] = [
        RUN,
        ("among", False, _text("among")),
        ("members", True, _number("members")),
        ("Jain's index", True, _number("jain", digits=4)),
    ]
    return _table("Fairness", columns, report.fairness)


def _queues(report: Report) -> Table:
    columns: list[Column] = [
        RUN,
        ("broker", False, _text("node")),
        ("subject", False, _text("subject")),
        ("what", False, _text("metric")),
        ("largest", True, _number("largest")),
        ("99 %", True, _number("p99")),
        ("mean", True, _number("mean", digits=1)),
        ("last", True, _number("last")),
    ]
    return _table("Queues and buffers", columns, report.queues)
