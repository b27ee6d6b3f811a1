"""The options of the Spark source, with Kafka's names where Kafka has them.

An invalid option fails before anything is read, and the error names it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Final, TypeVar

import msgspec

from penstock.client.addresses import parse_addresses
from penstock.client.errors import InvalidAddress
from penstock.core.clock import MILLISECOND, MINUTE, SECOND, Duration
from penstock.core.duration_text import parse_duration
from penstock.core.intervals import Tick

Value = TypeVar("Value")

EARLIEST: Final = "earliest"
LATEST: Final = "latest"

LATEST_TICK: Final = -1
EARLIEST_TICK: Final = -2
"""Stand for a tick in the JSON of an offset, as with Kafka."""

ANSWER_WITHIN_S: Final = 30.0
"""The default deadline for an answer of a broker, and for a read to make progress."""

TRIGGER_DELAY: Final[Duration] = 15 * MINUTE
"""The default limit on how long a batch waits for more rows, as with Kafka."""


class BadOption(ValueError):
    """An option of the source or sink that is invalid, or conflicts with others."""


class Place(msgspec.Struct, frozen=True):
    """A start or an end: a word (earliest, latest), a time for all pubends, or ticks.

    With ticks the word holds for the pubends that have none.
    """

    word: str = ""
    time: Tick | None = None
    ticks: dict[str, Tick] = msgspec.field(default_factory=dict)


class SourceOptions(msgspec.Struct, frozen=True):
    """All options (docs/reference/spark.md)."""

    url: str
    starting: Place
    ending: Place
    pubends: tuple[str, ...] = ()
    selector: str = ""
    attributes: str = ""
    fail_on_data_loss: bool = True
    null_on_type_mismatch: bool = False
    max_rows: int | None = None
    max_bytes: int | None = None
    max_span_ns: Duration | None = None
    min_rows: int | None = None
    max_trigger_delay_ns: Duration = TRIGGER_DELAY
    min_partitions: int = 1
    max_partitions: int = 1
    pushdown: bool = False
    cursor: str = ""
    timeout_s: float = ANSWER_WITHIN_S

    @property
    def described(self) -> str:
        """The source in a few words, for people: Spark's own name of it says nothing."""
        streams = ", ".join(self.pubends) or "all streams"
        chosen = f" where {self.selector}" if self.selector else ""
        return f"{streams}{chosen} at {self.url}"


KNOWN: Final = (
    "url",
    "pubends",
    "selector",
    "attributes",
    "startingOffsets",
    "startingTimestamp",
    "endingOffsets",
    "endingTimestamp",
    "failOnDataLoss",
    "typeMismatch",
    "maxRowsPerTrigger",
    "maxOffsetsPerTrigger",
    "maxBytesPerTrigger",
    "maxSpanPerTrigger",
    "minRowsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxPartitions",
    "pushdown",
    "cursor",
    "timeout",
)

SPARKS_OWN: Final = frozenset({"checkpointlocation", "queryname", "path", "paths"})
"""Options that Spark itself hands to sources and sinks: ``option("checkpointLocation")``,
``queryName(…)``, ``load(path)``, ``load([path, …])``, ``save(path)``, ``start(path)``.  They have
no meaning here."""


class OptionReader:
    """Parses options one by one; keys are case-insensitive, because Spark changes their case."""

    def __init__(self, options: Mapping[str, str], known: tuple[str, ...]) -> None:
        """Rejects unknown names: a misspelt limit would be no limit."""
        self._options = {key.lower(): value for key, value in options.items()}
        spelled = {name.lower(): name for name in known}
        unknown = sorted(self._options.keys() - spelled.keys() - SPARKS_OWN)
        if unknown:
            raise BadOption(_unknown(unknown[0], spelled))

    def read(self, name: str, understand: Callable[[str], Value], default: Value) -> Value:
        """One option, or the default; ``BadOption`` names the option and the reason."""
        value = self._options.get(name.lower())
        if value is None:
            return default
        try:
            return understand(value)
        except ValueError as error:
            raise BadOption(f"option {name}={value!r}: {error}") from None

    def has(self, name: str) -> bool:
        return name.lower() in self._options

    def exclusive(self, one: str, other: str) -> None:
        """Reject two options that exclude each other."""
        if self.has(one) and self.has(other):
            raise BadOption(f"options {one} and {other} exclude each other; give one of them")


def _unknown(name: str, spelled: Mapping[str, str]) -> str:
    """The error for an option that does not exist; ``spelled`` has the names as documented."""
    near = get_close_matches(name, spelled, n=1)
    meant = f"did you mean {spelled[near[0]]}? " if near else ""
    return f"unknown option {name!r}; {meant}the options are: {', '.join(sorted(spelled.values()))}"


def read_source_options(options: Mapping[str, str], *, streaming: bool) -> SourceOptions:
    """Parse the options of a streaming or a batch query; raises ``BadOption``."""
    reader = OptionReader(options, KNOWN)
    reader.exclusive("startingOffsets", "startingTimestamp")
    reader.exclusive("endingOffsets", "endingTimestamp")
    reader.exclusive("maxRowsPerTrigger", "maxOffsetsPerTrigger")
    reader.exclusive("minRowsPerTrigger", "minOffsetsPerTrigger")
    if streaming and (reader.has("endingOffsets") or reader.has("endingTimestamp")):
        raise BadOption("endingOffsets and endingTimestamp are for batch queries (spark.read)")
    starting = _with_word(
        reader.read("startingOffsets", place, Place()), LATEST if streaming else EARLIEST
    )
    ending = _with_word(reader.read("endingOffsets", place, Place()), LATEST)
    if not streaming and starting.word == LATEST:
        raise BadOption("startingOffsets='latest' leaves nothing for a batch query to read")
    if ending.word == EARLIEST:
        raise BadOption("endingOffsets='earliest' leaves nothing to read")
    max_rows = reader.read("maxOffsetsPerTrigger", positive, None)
    min_rows = reader.read("minOffsetsPerTrigger", positive, None)
    read = SourceOptions(
        url=read_url(reader),
        starting=reader.read("startingTimestamp", at_time, starting),
        ending=reader.read("endingTimestamp", at_time, ending),
        pubends=reader.read("pubends", names, ()),
        selector=reader.read("selector", selector, ""),
        attributes=reader.read("attributes", str, ""),
        fail_on_data_loss=reader.read("failOnDataLoss", truth, True),
        null_on_type_mismatch=reader.read("typeMismatch", _mismatch, False),
        max_rows=reader.read("maxRowsPerTrigger", positive, max_rows),
        max_bytes=reader.read("maxBytesPerTrigger", positive, None),
        max_span_ns=reader.read("maxSpanPerTrigger", parse_duration, None),
        min_rows=reader.read("minRowsPerTrigger", positive, min_rows),
        max_trigger_delay_ns=reader.read("maxTriggerDelay", parse_duration, TRIGGER_DELAY),
        min_partitions=reader.read("minPartitions", positive, None) or 1,
        max_partitions=reader.read("maxPartitions", positive, None) or os.cpu_count() or 1,
        pushdown=reader.read("pushdown", truth, False),
        cursor=reader.read("cursor", str, ""),
        timeout_s=reader.read("timeout", seconds_of, ANSWER_WITHIN_S),
    )
    if read.min_rows and read.max_rows and read.min_rows > read.max_rows:
        raise BadOption("minRowsPerTrigger must not be greater than maxRowsPerTrigger")
    return msgspec.structs.replace(
        read, max_partitions=max(read.max_partitions, read.min_partitions)
    )


def _with_word(given: Place, word: str) -> Place:
    """The place with the default word, unless it says where every pubend stands."""
    return given if given.word else msgspec.structs.replace(given, word=word)


def read_url(reader: OptionReader) -> str:
    """The brokers' address: the option, or ``PENSTOCK_URL``."""
    url = reader.read("url", str, "") or os.environ.get("PENSTOCK_URL", "")
    if not url:
        raise BadOption(
            "no option url: give .option('url', 'penstock://host:port'), or set PENSTOCK_URL"
        )
    try:
        parse_addresses(url)
    except InvalidAddress as error:
        raise BadOption(f"option url={url!r}: {error}") from None
    return url


def place(text: str) -> Place:
    """``earliest``, ``latest``, or JSON: a tick for each pubend."""
    if text.lower() in (EARLIEST, LATEST):
        return Place(text.lower())
    try:
        ticks = msgspec.json.decode(text, type=dict[str, int])
    except msgspec.MsgspecError:
        raise ValueError(
            "use earliest, latest, or JSON with ticks of pubends (-2 is earliest, -1 latest), like "
            + json.dumps({"prices": 1_700_000_000_000_000_000, "trades": -2})
        ) from None
    if not ticks:
        raise ValueError("the JSON names no pubend")
    for pubend, tick in ticks.items():
        if tick < EARLIEST_TICK:
            raise ValueError(f"{tick} is no tick of {pubend!r}; -2 is earliest, -1 is latest")
    return Place(ticks=ticks)


def at_time(text: str) -> Place:
    """Milliseconds since 1970, as with Kafka, or an ISO time (UTC unless it names a zone)."""
    if text.strip().isdigit():
        return Place(time=int(text) * MILLISECOND)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            "use milliseconds since 1970 or a time like 2026-01-31T12:00:00Z"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Place(time=round(moment.timestamp() * 1000) * MILLISECOND)


def seconds_of(text: str) -> float:
    """A duration, in seconds."""
    return parse_duration(text) / SECOND


def positive(text: str) -> int | None:
    """An integer above 0."""
    value = int(text) if text.strip().isdigit() else 0
    if value <= 0:
        raise ValueError("use an integer above 0")
    return value


def truth(text: str) -> bool:
    """``true`` or ``false``."""
    if text.lower() not in ("true", "false"):
        raise ValueError("use true or false")
    return text.lower() == "true"


def names(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    found = tuple(name.strip() for name in text.split(",") if name.strip())
    if not found:
        raise ValueError("give at least one name")
    return found


def selector(text: str) -> str:
    """A valid selector."""
    # Imported here: the parser is slow to load, and most queries have no selector.
    from penstock.content.selectors.error import SelectorError
    from penstock.content.selectors.parser import parse

    try:
        parse(text)
    except SelectorError as error:
        raise ValueError(str(error)) from None
    return text


def _mismatch(text: str) -> bool:
    if text not in ("fail", "null"):
        raise ValueError("use fail or null")
    return text == "null"
