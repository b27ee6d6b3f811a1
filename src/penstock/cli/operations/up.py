"""``penstock up``: starts a small overlay with a sample workload and a live view."""

from __future__ import annotations

import asyncio
import math
import tempfile
import time
from collections import deque
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock.cli.errors import MISUSED, UserError, told_in_one_line
from penstock.cli.spark.pipeline import Pipeline
from penstock.cli.spark.session import need_spark
from penstock.client.errors import PenstockError
from penstock.core.trace import is_own_stream
from penstock.lab.worlds.local_overlay import (
    BROKERS,
    SELECTIVE,
    Counts,
    LocalOverlay,
    SampleWorkload,
)
from penstock.net.process import BrokerFailed

REFRESH_S = 0.5
RATE_OVER_S = 3.0
"""Rates are averaged over the last few seconds; shorter intervals would flicker."""


def up(
    *,
    for_: float = math.inf,
    rate: float = 1000.0,
    spark: bool | None = None,
    lake: Path | None = None,
    json: bool = False,
) -> None:
    """Start three brokers in a row on this machine, with a sample workload and a live view.

    The brokers' telemetry goes through Spark into a lake, if Spark is installed. Ctrl-C stops
    everything. The view shows the addresses for penstock pub, sub and why.

    Parameters
    ----------
    for_
        Stop after this many seconds.
    rate
        Messages per second that the sample publishers offer.
    spark
        Whether to run the Spark pipeline (default: if Spark is installed).
    lake
        A lake to keep the telemetry in, for penstock report (default: deleted at the end).
    json
        Print one JSON object at the end instead of the view.
    """
    if for_ <= 0 or rate <= 0:
        raise UserError("--for and --rate must be greater than 0", MISUSED)
    if spark or lake is not None:
        need_spark("up --spark")
    with_spark = lake is not None or (find_spec("pyspark") is not None if spark is None else spark)
    run = f"up-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    with (
        tempfile.TemporaryDirectory(prefix="penstock-up-") as directory,
        told_in_one_line(BrokerFailed, PenstockError, OSError),
        LocalOverlay(Path(directory), run) as overlay,
    ):
        try:
            place = lake or Path(directory) / "lake"
            asyncio.run(_watch(overlay, for_, rate, place if with_spark else None, json))
        except KeyboardInterrupt:
            Console(stderr=True).print("stopping")
    if lake is not None and not json:
        print(f"see: penstock report {run} --lake {lake}")


async def _watch(
    overlay: LocalOverlay, for_s: float, rate: float, lake: Path | None, json: bool
) -> None:
    began = time.monotonic()
    async with AsyncExitStack() as stack:
        pipeline = None
        if lake is not None:
            pipeline = await stack.enter_async_context(Pipeline(overlay.url(BROKERS[-1]), lake))
        workload = await stack.enter_async_context(SampleWorkload(overlay, rate))
        samples: deque[tuple[float, Counts]] = deque()
        console = Console(quiet=json)
        with Live(console=console, auto_refresh=False, transient=False) as live:
            while (now := time.monotonic()) - began < for_s:
                samples.append((now, msgspec.structs.replace(workload.counts)))
                while now - samples[0][0] > RATE_OVER_S and len(samples) > 2:
                    samples.popleft()
                status = await workload.status()
                if not json:
                    shown = _view(overlay, samples, status, pipeline)
                    live.update(shown, refresh=True)
                await asyncio.sleep(min(REFRESH_S, max(0.0, began + for_s - now)))
        counts, took_s = workload.counts, time.monotonic() - began
        landed = None if pipeline is None else {"rows": pipeline.rows, "lag_s": pipeline.lag_s}
    if json:
        summary = {"seconds": round(took_s, 3), **msgspec.to_builtins(counts), "spark": landed}
        print(msgspec.json.encode(summary).decode())


def _view(
    overlay: LocalOverlay,
    samples: deque[tuple[float, Counts]],
    status: dict[str, dict[str, Any]],
    pipeline: Pipeline | None,
) -> Group:
    (before_at, before), (at, counts) = samples[0], samples[-1]
    elapsed = max(at - before_at, 1e-9)
    # Tables without boxes: the whole view fits into 24 lines, the size of a standard terminal.

    def rate(name: str) -> str:
        return f"{(getattr(counts, name) - getattr(before, name)) / elapsed:,.0f}"

    flow = Table(title="sample workload", title_justify="left", box=None)
    for column in ("", "messages", "msg/s"):
        flow.add_column(column, justify="right" if column else "left")
    flow.add_row("published to pb", f"{counts.published:,}", rate("published"))
    flow.add_row("delivered at sb, everything", f"{counts.delivered:,}", rate("delivered"))
    flow.add_row(f"delivered at sb, {SELECTIVE}", f"{counts.selected:,}", rate("selected"))
    parts = [flow, _links(status), _streams(status), _spark(pipeline), _addresses(overlay)]
    return Group(*(part for part in parts if part is not None))


def _links(status: dict[str, dict[str, Any]]) -> Table:
    table = Table(title="links", title_justify="left", box=None)
    for column in ("link", "state", "queue B", "sent MB", "dropped"):
        table.add_column(column, justify="left" if column in ("link", "state") else "right")
    for name, document in status.items():
        for neighbour, link in document["links"].items():
            table.add_row(
                f"{name} → {neighbour}",
                "[green]up[/]" if link["up"] else "[red]down[/]",
                f"{link['queue_bytes']:,}",
                f"{link['sent_bytes'] / 1e6:,.1f}",
                f"{link['dropped_messages']:,}",
            )
    return table


def _streams(status: dict[str, dict[str, Any]]) -> Table:
    table = Table(title="streams", title_justify="left", box=None)
    for column in ("pubend", "published", "log MB", "waiting", "doubt horizon behind, ms"):
        table.add_column(column, justify="left" if column == "pubend" else "right")
    horizons = status.get("sb", {}).get("horizons", {})
    now = time.time_ns()
    for pubend, document in status.get("pb", {}).get("pubends", {}).items():
        if is_own_stream(pubend):
            continue
        horizon = horizons.get(pubend)
        table.add_row(
            pubend,
            f"{document['published_messages']:,}",
            f"{document['log_bytes'] / 1e6:,.1f}",
            f"{document['publications_waiting']:,}",
            "–" if horizon is None else f"{max(0, now - horizon) / 1e6:,.0f}",
        )
    return table


def _spark(pipeline: Pipeline | None) -> Table | None:
    if pipeline is None:
        return None
    table = Table(title="pipeline: telemetry → Spark → lake", title_justify="left", box=None)
    for column in ("state", "rows read by Spark", "behind the brokers, s"):
        table.add_column(column, justify="left" if column == "state" else "right")
    lag_s = pipeline.lag_s
    behind = "–" if lag_s is None else f"{lag_s:.1f}"
    table.add_row(Text(pipeline.state), f"{pipeline.rows:,}", behind)
    return table


def _addresses(overlay: LocalOverlay) -> Text:
    publish, subscribe = overlay.url(BROKERS[0]), overlay.url(BROKERS[-1])
    return Text(
        f"publish:    penstock pub --url {publish} --attr topic=mine hello\n"
        f"subscribe:  penstock sub --url {subscribe} \"topic = 'mine'\"\n"
        f"why:        penstock why --url {publish} pb.1\n"
        "Ctrl-C stops everything."
    )
