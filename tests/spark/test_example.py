"""The example job, killed in the middle of a batch, with a broker that is killed too.

Its output must equal the result of a batch query over everything that was published.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

from penstock.client.blocking import client as blocking
from penstock.net.process import BrokerProcess

pytestmark = pytest.mark.xdist_group("spark")

EXAMPLE = Path(__file__).parents[2] / "examples" / "spark_windows.py"
PATIENCE_S = 300.0
"""On a busy machine a session alone takes a minute to start."""

LOOK_AGAIN_S = 0.01
"""Short compared with a batch; polling without a pause would occupy the core that the job needs."""


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("spark_windows", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def broker(start_broker) -> BrokerProcess:
    return start_broker("a", 'pubends = ["events", "windows"]')


def test_a_killed_job_and_a_killed_broker_change_nothing(
    spark: SparkSession,
    example: ModuleType,
    broker: BrokerProcess,
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kill_in_the_middle_of_a_batch: Callable[[subprocess.Popen[bytes], Path], int],
    last_batch: Callable[[Path], int],
) -> None:
    monkeypatch.setenv("PENSTOCK_URL", url)
    assert example.publish() == example.PRODUCERS * example.ROUNDS * example.EVENTS_IN_A_ROUND
    checkpoint = tmp_path / "checkpoint"
    with (tmp_path / "job.log").open("wb") as log:
        job = subprocess.Popen(
            [sys.executable, str(EXAMPLE), "job", str(checkpoint)],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        killed_in = kill_in_the_middle_of_a_batch(job, checkpoint)
    broker.kill()
    broker.start()
    query = example.start_job(spark, url, str(checkpoint), processingTime="0 seconds")
    try:
        until = time.monotonic() + PATIENCE_S
        while last_batch(checkpoint / "commits") <= killed_in:
            assert query.isActive, query.exception()
            assert time.monotonic() < until, "the job did not continue"
            time.sleep(LOOK_AGAIN_S)
        broker.kill()
        broker.start()
        query.processAllAvailable()
    finally:
        query.stop()
    published, expected = example.read_back(spark, url)
    assert published == expected
    assert sum(trades for *_, trades in expected) == (
        example.PRODUCERS * example.ROUNDS * example.EVENTS_IN_A_ROUND
    )
    with blocking.connect(url) as client:
        heads = {"windows": client.streams()["windows"].head}
        seen = [
            (message["symbol"], message["from_ms"], message["quantity"], message["trades"])
            for message in client.subscribe("trades > 0", start="earliest", end=heads)
        ]
    assert sorted(seen) == expected
