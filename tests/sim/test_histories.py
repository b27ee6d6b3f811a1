"""Random histories with crashes, cuts, loss, full disks, failed syncs, damaged logs, and clients
that come and go.

Each seed is a scenario of its own (``random_scenario``).  All machines check their invariants after
every fact, and the independent judge checks what the applications saw.
"""

import pytest

from penstock.lab.oracle.guaranteed.history import GuaranteedHistory, Outcome
from penstock.lab.run import run
from penstock.lab.scenario.random_scenario import random_scenario
from penstock.lab.worlds.sim import SimRun

HISTORIES = 300
GROUP = 25

FOUND_DEFECTS = (60236,)
"""Seeds that failed once: the log was trimmed before the table of producers was saved."""


def judge(seed: int) -> None:
    result = run(SimRun(random_scenario(seed), seed, checked=True))
    assert not result.judgement.violations, f"seed {seed}: {result.judgement.examples}"
    assert not result.histories["guaranteed"].pending, f"seed {seed}: publications hang"


@pytest.mark.parametrize("first_seed", range(0, HISTORIES, GROUP))
def test_nothing_is_lost_duplicated_or_out_of_order(first_seed: int) -> None:
    for seed in range(first_seed, first_seed + GROUP):
        judge(seed)


@pytest.mark.parametrize("seed", FOUND_DEFECTS)
def test_a_defect_that_was_found_stays_mended(seed: int) -> None:
    judge(seed)


def test_histories_contain_traffic_and_every_fault() -> None:
    """A fault plan under which no messages flow would prove nothing."""
    acknowledged = delivered = refused = uncertain = announced = 0
    for seed in range(30):
        result = run(SimRun(random_scenario(seed), seed))
        history = result.histories["guaranteed"]
        assert isinstance(history, GuaranteedHistory)
        uncertain += history.count(Outcome.UNCERTAIN)
        announced += result.judgement["announced_lost"]
        acknowledged += history.count(Outcome.ACKNOWLEDGED)
        refused += history.count(Outcome.REFUSED)
        delivered += history.delivered
    assert acknowledged > 1000
    assert delivered > 1000
    assert refused > 0
    assert uncertain > 0, "no sync failed while a publication was being stored"
    assert announced > 0, "no damaged record was read"
