"""The pipeline of ``penstock up``: a separate process, monitored, and stopped with the view."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from penstock.cli.spark.pipeline import Pipeline
from penstock.net.process import BrokerProcess, free_port
from penstock.spark.lake.lake import open_lake, runs_of

pytestmark = pytest.mark.xdist_group("spark")

PATIENCE_S = (
    240.0  # Spark starts within seconds; only a machine that is busy otherwise takes longer
)


async def test_rows_and_lag_are_reported_and_the_process_is_stopped(tmp_path: Path) -> None:
    config = tmp_path / "b.toml"
    port = free_port()
    config.write_text(
        f'name = "b"\nlisten = "127.0.0.1:{port}"\ndata_dir = "b"\n'
        '[telemetry]\npublish = true\nrun = "up"\ninterval_s = 0.2\n'
    )
    lake = tmp_path / "lake"
    with BrokerProcess(config, tmp_path / "b.log"):
        async with Pipeline(f"penstock://127.0.0.1:{port}", lake) as pipeline:
            assert (pipeline.state, pipeline.lag_s) == ("starting", None)
            async with asyncio.timeout(PATIENCE_S):
                while not pipeline.rows:
                    await pipeline.landed()
                    assert pipeline.state != "ended", pipeline.problem
            assert pipeline.state == "running"
            assert pipeline.lag_s is not None
            process = pipeline._process.pid
    snapshot = open_lake(lake).snapshot()
    assert runs_of(snapshot) == ["up"]
    assert snapshot.rows >= pipeline.rows > 0
    with pytest.raises(ProcessLookupError):
        os.killpg(process, 0)


async def test_a_job_that_fails_reports_its_error(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("not a lake")
    async with Pipeline("penstock://127.0.0.1:1", tmp_path) as pipeline:
        async with asyncio.timeout(PATIENCE_S):
            await pipeline.landed()
        assert pipeline.state.startswith("ended: penstock: ")
        assert "not empty and no table" in pipeline.state
