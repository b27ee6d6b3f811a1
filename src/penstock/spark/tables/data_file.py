"""One Parquet file of a table, as the table's log describes it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec
import pyarrow.parquet as pq

LONGEST_BOUND: Final = 32
"""Characters of a text that is kept as the least or the greatest value of a column."""


class DataFile(msgspec.Struct, frozen=True):
    """A file, the values of its partition, and the bounds of its rows."""

    path: str
    """Relative to the table's directory."""
    partition: dict[str, str]
    rows: int
    size_bytes: int
    low_ns: int
    high_ns: int
    """The earliest and the latest instant of its rows."""
    stats: str = ""
    """What the log says of its columns, as JSON; only known of files that are being added."""


def describe(source: Path, called: str, partition: Mapping[str, str], instant: str) -> DataFile:
    """The description of a file, from its own footer; ``instant`` is the column of its bounds."""
    footer = pq.read_metadata(source)
    schema = footer.schema.to_arrow_schema()
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    bounds: dict[str, tuple[Any, Any]] = {}
    for number, name in enumerate(schema.names):
        found = _bounds(groups, number)
        if found is not None:
            bounds[name] = found
    low, high = bounds.get(instant, (0, 0))
    stats = {
        "numRecords": footer.num_rows,
        "minValues": {name: least for name, (least, _) in bounds.items()},
        "maxValues": {name: most for name, (_, most) in bounds.items()},
    }
    size = source.stat().st_size
    text = json.dumps(stats, separators=(",", ":"))
    return DataFile(called, dict(partition), footer.num_rows, size, low, high, text)


def _bounds(groups: Iterable[Any], column: int) -> tuple[Any, Any] | None:
    """The least and the greatest value of a column, or None if they are not worth keeping."""
    found = [group.column(column).statistics for group in groups if group.num_rows]
    if not found or any(each is None or not each.has_min_max for each in found):
        return None
    least, most = min(each.min for each in found), max(each.max for each in found)
    return (least, most) if _is_kept(least) and _is_kept(most) else None


def _is_kept(value: object) -> bool:
    """Floats are not: the footer leaves out NaN, which compares as the greatest value in Spark."""
    if isinstance(value, str):
        return len(value) <= LONGEST_BOUND
    return type(value) is int


def partition_path(partition: Mapping[str, str]) -> Path:
    """The folder of a partition, in the naming scheme that Spark reads."""
    return Path(*(f"{name}={quote(value, safe='')}" for name, value in partition.items()))


def partition_of(folder: Path) -> dict[str, str]:
    """The values that the name of a folder states; it is relative to the table's directory."""
    pairs = (part.partition("=") for part in folder.parts)
    return {name: unquote(value) for name, equals, value in pairs if equals}


def by_partition(files: Iterable[DataFile]) -> dict[tuple[str, ...], list[DataFile]]:
    """The files of each partition."""
    found: dict[tuple[str, ...], list[DataFile]] = {}
    for file in files:
        found.setdefault(tuple(file.partition.values()), []).append(file)
    return found


def staged_files(staged: Path, partition_by: tuple[str, ...]) -> Iterator[tuple[Path, Path]]:
    """The Parquet files below a directory, in order, each with its folder relative to it."""
    pattern = "/".join(f"{name}=*" for name in partition_by)
    for source in sorted(staged.glob(f"{pattern}/*.parquet")):
        yield source, source.parent.relative_to(staged)
