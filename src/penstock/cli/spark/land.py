"""``penstock land``: keeps a Delta table of the messages that match a selector."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import rich.table
from cyclopts import App
from rich.console import Console

from penstock.cli.errors import MISUSED, UserError, told_in_one_line
from penstock.cli.spark.session import need_spark, spark_session, spark_told_in_one_line
from penstock.cli.spark.wait import wait_for
from penstock.client.addresses import parse_addresses
from penstock.client.errors import InvalidAddress
from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.parser import parse
from penstock.core.clock import MILLISECOND, SECOND
from penstock.spark.tables.table import REMOVED_STAY_S, TableError

if TYPE_CHECKING:
    from penstock.spark.land.landing import Landed, Version

land = App(name="land", help="Keep a Delta table of the messages that match a selector.")

NO_TIME: Final = "-"


@land.default
def run(
    selector: str = "",
    *,
    table: Path,
    url: str | None = None,
    once: bool = False,
    every: float = 5.0,
    pubends: str = "",
    columns: str = "",
    cursor: str = "",
    skip_lost: bool = False,
    json: bool = False,
    master: str = "local[*]",
) -> None:
    """Write the messages that match a selector to a Delta table until Ctrl-C, each exactly once.

    Every attribute becomes a column with its type; columns are added as attributes appear. A
    restarted job continues where it stopped.

    Parameters
    ----------
    selector
        Which messages (default: all that clients publish).
    table
        The table's directory; created if it does not exist.
    url
        Any broker of the overlay, penstock://host:port (default: PENSTOCK_URL).
    once
        Write what is stored now, then exit.
    every
        Seconds between two micro-batches.
    pubends
        Only these streams: names separated by commas, * matches anything.
    columns
        Columns with types that a new table has from the start, as in "symbol string, price double".
    cursor
        A name under which the brokers keep the messages that the table does not have yet.
    skip_lost
        Skip messages that the brokers no longer keep, instead of failing.
    json
        Print one line of JSON for each micro-batch.
    master
        The Spark master.
    """
    if every <= 0:
        raise UserError("--every must be greater than 0", MISUSED)
    need_spark("land")
    with told_in_one_line(InvalidAddress, SelectorError, status=MISUSED):
        where = "penstock://" + ",".join(map(str, parse_addresses(url)))
        parse(selector)
    from penstock.spark.land.columns import declare
    from penstock.spark.land.landing import MessageLanding, create_message_table, message_stream
    from penstock.spark.schema import SchemaMismatch

    with told_in_one_line(TableError, SchemaMismatch, OSError, status=MISUSED):
        opened = create_message_table(table, selector)
        opened.add_columns(declare(columns, opened.snapshot().columns))
    options = {
        "selector": selector,
        "pubends": pubends,
        "cursor": cursor,
        "failOnDataLoss": str(not skip_lost).lower(),
    }
    with spark_session("land", master) as spark:
        landing = MessageLanding(opened, _print_json if json else _print_line)
        with spark_told_in_one_line(), told_in_one_line(TableError):
            given = {name: value for name, value in options.items() if value}
            query = landing.start(
                message_stream(spark, where, given), every_s=None if once else every
            )
            wait_for(query)
    if not json:
        rows = opened.snapshot().rows
        print(f"{landing.total_rows:,} messages written; {table} holds {rows:,}")


def _print_json(landed: Landed) -> None:
    print(msgspec.json.encode(landed).decode(), flush=True)


def _print_line(landed: Landed) -> None:
    if landed.new_columns:
        print(f"new columns: {', '.join(landed.new_columns)}", flush=True)
    if landed.rows:
        lag = f"{landed.lag_s:.1f} s behind the publishers"
        print(f"batch {landed.batch}: {landed.rows:,} messages, {lag}", flush=True)


@land.command
def compact(*, table: Path, json: bool = False) -> None:
    """Merge many small files into few; running readers are not affected.

    Parameters
    ----------
    table
        The table's directory.
    json
        Print the result as JSON.
    """
    from penstock.spark.land.landing import open_message_table
    from penstock.spark.tables.compaction import compact as compact_table

    with told_in_one_line(TableError, OSError, status=MISUSED):
        done = compact_table(open_message_table(table))
    if json:
        print(msgspec.json.encode(done).decode())
        return
    print(
        f"{done.files_before} files in {done.folders} days were merged into {done.files_after}; "
        f"{done.unused_removed} unused files deleted "
        f"(unused files are kept for {REMOVED_STAY_S / 60:.0f} minutes)"
    )


@land.command
def drop(*, table: Path, before: date) -> None:
    """Drop the days before one.

    Parameters
    ----------
    table
        The table's directory.
    before
        Drop the days before this one (UTC), as in 2026-01-31.
    """
    from penstock.spark.land.landing import drop_days, open_message_table

    with told_in_one_line(TableError, OSError, status=MISUSED):
        opened = open_message_table(table)
        dropped = drop_days(opened, before)
        opened.remove_unused()
    print(f"{sum(file.rows for file in dropped):,} messages in {len(dropped)} files dropped")


@land.command
def versions(*, table: Path, at: datetime | None = None, json: bool = False) -> None:
    """List the versions of a table, or find the last one before a time of the streams.

    Parameters
    ----------
    table
        The table's directory.
    at
        Print only the last version that has no message from this time on (UTC).
    json
        Print the list as JSON.
    """
    from penstock.spark.land.landing import open_message_table, version_at
    from penstock.spark.land.landing import versions as versions_of

    with told_in_one_line(TableError, OSError, status=MISUSED):
        opened = open_message_table(table)
        if at is not None:
            found = version_at(opened, round(at.replace(tzinfo=UTC).timestamp() * SECOND))
            if found is None:
                raise UserError(f"{table}: every version that the log knows has later messages")
            print(found)
            return
        listed = versions_of(opened)
    if json:
        print(msgspec.json.encode(listed).decode())
        return
    shown = rich.table.Table("version", "committed (UTC)", "what", "newest message (UTC)", box=None)
    for each in listed:
        shown.add_row(str(each.version), _time(each.at_ms * MILLISECOND), each.what, _newest(each))
    Console().print(shown)


def _newest(version: Version) -> str:
    return _time(max(version.last_ticks.values(), default=0))


def _time(at_ns: int) -> str:
    if not at_ns:
        return NO_TIME
    return datetime.fromtimestamp(at_ns / SECOND, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
