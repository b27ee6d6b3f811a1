"""How far behind and how fast the streaming queries of a session are.

    from penstock.spark.progress import watch_queries

    watched = watch_queries(spark, port=9400)   # Prometheus scrapes http://driver:9400/metrics
    watched.latest()                            # the same as structs

Spark's progress of a query has offsets, which are ticks here, so their differences are durations: a
stream is behind by the time between what the query has read and the last message that its broker
has.  Spark calls the functions of a listener after each micro-batch, and when a query was idle for
ten seconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Final

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from penstock.core.clock import in_seconds

NAMELESS: Final = "unnamed"

METRICS: Final = {
    "penstock_spark_behind_seconds": "Time between what the query has read and the last message.",
    "penstock_spark_input_rows_per_second": "Rate at which rows arrived for the last micro-batch.",
    "penstock_spark_processed_rows_per_second": "Rate at which the last micro-batch was processed.",
    "penstock_spark_batch": "Number of the last micro-batch.",
    "penstock_spark_batch_seconds": "How long the last micro-batch took.",
}


class SourceProgress(msgspec.Struct, frozen=True):
    """One source of this project in one query, after its last micro-batch."""

    query: str
    """The name of ``queryName``, or "unnamed"."""
    query_id: str
    source: str
    """Streams, selector and address."""
    batch: int
    rows: int
    batch_s: float
    input_rows_per_s: float
    processed_rows_per_s: float
    behind_s: dict[str, float]
    """By stream."""

    @property
    def most_behind_s(self) -> float:
        """Of the stream that is furthest behind."""
        return max(self.behind_s.values(), default=0.0)


def source_progress(progress: dict[str, Any]) -> list[SourceProgress]:
    """The sources of this project in a query's progress (``StreamingQueryProgress.json``)."""
    found: list[SourceProgress] = []
    for source in progress.get("sources", ()):
        end, latest = _document(source.get("endOffset")), _document(source.get("latestOffset"))
        if "rows_end" not in latest or "next" not in end:
            continue
        found.append(
            SourceProgress(
                query=progress.get("name") or NAMELESS,
                query_id=str(progress.get("id", "")),
                source=latest["source"],
                batch=progress.get("batchId", -1),
                rows=source.get("numInputRows", 0),
                batch_s=progress.get("batchDuration", 0) / 1000,
                input_rows_per_s=source.get("inputRowsPerSecond", 0.0) or 0.0,
                processed_rows_per_s=source.get("processedRowsPerSecond", 0.0) or 0.0,
                behind_s={
                    pubend: in_seconds(max(0, rows_end - end["next"].get(pubend, rows_end)))
                    for pubend, rows_end in latest["rows_end"].items()
                },
            )
        )
    return found


def _document(offset: Any) -> dict[str, Any]:
    found = json.loads(offset) if isinstance(offset, str) else offset
    return found if isinstance(found, dict) else {}


class QueryWatcher(StreamingQueryListener):
    """Keeps the last progress of every query; made by ``watch_queries``."""

    def __init__(self, on_progress: Callable[[SourceProgress], None] | None = None) -> None:
        self._on_progress = on_progress
        self._lock = Lock()
        self._latest: dict[str, list[SourceProgress]] = {}
        self.metrics_address: tuple[str, int] | None = None
        """Where the figures are served, if they are."""

    def latest(self) -> list[SourceProgress]:
        """The last progress of every query that runs, the one furthest behind first."""
        with self._lock:
            found = [each for sources in self._latest.values() for each in sources]
        return sorted(found, key=lambda each: -each.most_behind_s)

    def prometheus(self) -> str:
        """The same in the text format of Prometheus."""
        return prometheus_text(self.latest())

    # -- Spark's calls ----------------------------------------------------------------------

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Nothing is known yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """A micro-batch is done."""
        sources = source_progress(json.loads(event.progress.json))
        with self._lock:
            self._latest[str(event.progress.id)] = sources
        if self._on_progress is not None:
            for each in sources:
                self._on_progress(each)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        """There was nothing to read: the query is behind nothing."""
        with self._lock:
            sources = self._latest.get(str(event.id), [])
            self._latest[str(event.id)] = [
                msgspec.structs.replace(each, behind_s=dict.fromkeys(each.behind_s, 0.0))
                for each in sources
            ]

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """The query has ended, so that it is behind nothing any more."""
        with self._lock:
            self._latest.pop(str(event.id), None)


def watch_queries(
    spark: SparkSession,
    *,
    port: int | None = None,
    host: str = "127.0.0.1",
    on_progress: Callable[[SourceProgress], None] | None = None,
) -> QueryWatcher:
    """Watch the queries of a session, from now on.

    With a ``port`` the figures are served at ``/metrics``, in a thread that ends with the program;
    0 takes a free one.  ``on_progress`` is called after each micro-batch, from a thread of Spark.
    """
    watcher = QueryWatcher(on_progress)
    spark.streams.addListener(watcher)
    if port is not None:
        watcher.metrics_address = _serve(watcher, host, port)
    return watcher


def _serve(watcher: QueryWatcher, host: str, port: int) -> tuple[str, int]:
    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/metrics":
                self.send_error(404, "the figures are at /metrics")
                return
            body = watcher.prometheus().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """A scrape every few seconds is not worth a line."""

    server = ThreadingHTTPServer((host, port), Metrics)
    Thread(target=server.serve_forever, name="penstock metrics", daemon=True).start()
    address: tuple[str, int] = server.server_address[:2]  # type: ignore[assignment]
    return address


def prometheus_text(sources: Iterable[SourceProgress]) -> str:
    """Progress in the text format of Prometheus."""
    lines: dict[str, list[str]] = {metric: [] for metric in METRICS}
    for each in sources:
        labels = {"query": each.query, "query_id": each.query_id, "source": each.source}
        for pubend, behind_s in sorted(each.behind_s.items()):
            _add(lines, "penstock_spark_behind_seconds", {**labels, "stream": pubend}, behind_s)
        _add(lines, "penstock_spark_input_rows_per_second", labels, each.input_rows_per_s)
        _add(lines, "penstock_spark_processed_rows_per_second", labels, each.processed_rows_per_s)
        _add(lines, "penstock_spark_batch", labels, each.batch)
        _add(lines, "penstock_spark_batch_seconds", labels, each.batch_s)
    text = []
    for metric, samples in lines.items():
        text += [f"# HELP {metric} {METRICS[metric]}", f"# TYPE {metric} gauge", *samples]
    return "\n".join(text) + "\n"


def _add(lines: dict[str, list[str]], metric: str, labels: dict[str, str], value: float) -> None:
    described = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
    lines[metric].append(f"{metric}{{{described}}} {value:g}")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
