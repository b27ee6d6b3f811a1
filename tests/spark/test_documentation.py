"""The first snippets of the pages about Spark run as they stand, and show something."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import polars
import pytest

from penstock.client.blocking import client as blocking

pytestmark = pytest.mark.xdist_group("spark")

ROOT = Path(__file__).parents[2]
URL = "penstock://127.0.0.1:7400"
PATIENCE_S = 300.0


def first_snippet(page: str) -> str:
    """The first Python text of a page that uses Spark."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return next(
        snippet
        for snippet in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        if "build_session" in snippet
    )


@pytest.mark.parametrize("page", ["docs/reference/spark.md", "README.md"])
def test_the_first_snippet_runs_and_shows_rows(
    page: str, url: str, client: blocking.Client, tmp_path: Path
) -> None:
    with client.publisher(pubend="a.1") as publisher:
        prices = [90.0, 101.5, 150.0]
        publisher.publish_batch([({"symbol": "ACME", "price": price}, b"") for price in prices])
    before = len(list(client.subscribe("price > 100", start="earliest", end=heads(client))))
    snippet = first_snippet(page)
    assert URL in snippet, "the test replaces this address"
    done = subprocess.run(
        [sys.executable, "-c", snippet.replace(URL, url)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    shown = re.findall(r"^\|\s*(\w+)\s*\|\s*(\d+)\s*\|$", done.stdout, re.MULTILINE)
    assert shown == [("ACME", str(before))], done.stdout


def test_the_recipe_for_delta_writes_every_message_once(
    url: str, client: blocking.Client, tmp_path: Path
) -> None:
    snippet = first_snippet("docs/how-to/exactly-once-with-spark.md")
    with client.publisher(pubend="a.2") as publisher:
        publisher.publish_batch(
            [({"symbol": "ACME", "price": price}, b"") for price in (90.0, 120.0)]
        )
    for _ in range(2):
        # The second time there is nothing new, and the first batch is not repeated.
        done = subprocess.run(
            [sys.executable, "-c", snippet.replace(URL, url)],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr[-3000:]
    written = polars.scan_delta(str(tmp_path / "out" / "expensive")).collect()
    expected = list(client.subscribe("price > 100", start="earliest", end=heads(client)))
    assert sorted(written["tick"]) == sorted(message.tick for message in expected)
    assert 144.0 in written["with_tax"].to_list()


def heads(client: blocking.Client) -> dict[str, int]:
    return {pubend: bounds.head for pubend, bounds in client.streams().items()}
