import os
import subprocess
import sys

import pytest

PROGRAM = """
from penstock.lab.scenario.random_scenario import random_scenario
from penstock.lab.run import run
from penstock.lab.worlds.sim import SimRun

for seed in (3, 14, 159):
    print(run(SimRun(random_scenario(seed), seed, digested=True)).digest)
"""


def digests(hash_seed: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_same_seed_gives_the_same_digest_under_different_hash_seeds() -> None:
    first, second = digests("1"), digests("2")
    assert first == second
    assert len(set(first)) == len(first)


@pytest.mark.parametrize("seed", [2, 7])
def test_another_seed_gives_another_history(seed: int) -> None:
    from penstock.lab.run import run
    from penstock.lab.scenario.random_scenario import random_scenario
    from penstock.lab.worlds.sim import SimRun

    scenario = random_scenario(seed)
    runs = [run(SimRun(scenario, other, digested=True)) for other in (seed, seed + 1)]
    assert runs[0].digest != runs[1].digest
