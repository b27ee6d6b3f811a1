"""Short live runs of the Gryphon experiments: real processes, sockets, disks and limits."""

from __future__ import annotations

import pytest
from penstock.papers.gryphon.live import run_live_job
from penstock.papers.gryphon.runs import Job, Kept, largest

from penstock.lab.worlds.namespaces import NoNamespaces, check_possible

SHARE = 0.04
"""Shortened durations of the paper: an outage of 5 s, phases of 5 s."""


def check(kept: Kept) -> None:
    """Check what holds in every run, however slow the machine is."""
    assert (kept.lost, kept.duplicated, kept.out_of_order) == (0, 0, 0)
    assert largest(kept.queue_bytes) < 1_000_000
    assert all(sum(count for _, count in curve) > 100 for curve in kept.delivered.values())


def test_e1_with_the_links_own_limits() -> None:
    kept = run_live_job(Job("gryphon-e1", "improved", 1), share=SHARE)

    check(kept)
    assert max(lag for _, lag in kept.lag_s["sb2"]) > 3, "the outage was not noticed"
    assert kept.lag_s["sb2"][-1][1] < 2, "the recovery did not finish"


def test_e2_over_network_namespaces_with_kernel_token_buckets() -> None:
    try:
        check_possible()
    except NoNamespaces as why:
        pytest.skip(str(why))
    kept = run_live_job(Job("gryphon-e2", "improved", 1), share=SHARE, namespaces=True)

    check(kept)
    assert any(count < 400 for _, count in kept.published), "the publishers were not throttled"
