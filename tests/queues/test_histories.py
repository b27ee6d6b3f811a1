"""Whole histories in the simulator, with faults, judged by what the consumers saw."""

from __future__ import annotations

from random import Random

import pytest

from penstock.core.clock import MILLISECOND, SECOND

TOTAL = 6000


def test_messages_arrive_once_without_faults(sites):
    run = sites(1)
    run.produce(TOTAL)
    run.world.start()
    run.finish(TOTAL)
    run.judge(TOTAL)
    assert all(len(times) == 1 for times in run.seen.values())


@pytest.mark.parametrize("victim", ["home", "east"])
@pytest.mark.parametrize("seed", range(4))
def test_crashes_of_either_side_lose_and_double_nothing(sites, victim, seed):
    run = sites(seed)
    run.produce(TOTAL)
    run.world.start()
    random = Random(f"{seed}/{victim}")
    for _ in range(4):
        run.world.run_for(SECOND + random.randrange(SECOND))
        run.world.crash(victim)
        run.world.run_for(random.randrange(3 * SECOND))
        run.world.restart(victim)
    run.finish(TOTAL)
    run.judge(TOTAL)


@pytest.mark.parametrize("seed", range(4))
def test_lost_acknowledgements_lose_and_double_nothing(sites, seed):
    run = sites(seed)
    run.produce(TOTAL)
    run.world.start()
    random = Random(seed)
    for _ in range(12):
        run.world.run_for(random.randrange(700 * MILLISECOND))
        site = random.choice(run.sites)
        run.world.cut("home", site)
        run.world.run_for(random.randrange(400 * MILLISECOND))
        run.world.mend("home", site)
    run.finish(TOTAL)
    run.judge(TOTAL)


@pytest.mark.parametrize("seed", range(6))
def test_any_mixture_of_faults_loses_and_doubles_nothing(sites, seed):
    run = sites(seed, sites=("east", "west", "north"))
    run.produce(TOTAL)
    run.world.start()
    random = Random(f"mixture/{seed}")
    down: set[str] = set()
    for _ in range(25):
        run.world.run_for(random.randrange(600 * MILLISECOND))
        broker = random.choice(["home", *run.sites])
        match random.randrange(5):
            case 0:
                run.world.crash(broker)
                down.add(broker)
            case 1 if broker != "home":
                run.world.cut("home", broker)
            case 2 if broker != "home":
                run.world.mend("home", broker)
            case 3:
                run.world.fill_disk(broker, full=random.random() < 0.5)
            case 4:
                run.world.drop_client(random.choice(list(run.consumers)))
        for broker in sorted(down):
            if random.random() < 0.5:
                run.world.restart(broker)
                down.discard(broker)
    for broker in ["home", *run.sites]:
        run.world.fill_disk(broker, full=False)
        run.world.restart(broker)
        if broker != "home":
            run.world.mend("home", broker)
    run.finish(TOTAL)
    run.judge(TOTAL)
