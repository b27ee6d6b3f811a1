"""Whole histories in the simulator, with faults, judged by what the consumers saw."""

from __future__ import annotations

from random import Random

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.lab.run import run as run_scenario
from penstock.lab.worlds.sim import SimRun
from penstock.services.queues.status import status_of

TOTAL = 6000


def test_messages_arrive_once_without_faults(sites):
    run = sites(1, TOTAL)
    run.finish()
    run.judge()
    assert run.count("consumed") == run.count("confirmed") == TOTAL


@pytest.mark.parametrize("victim", ["home", "east"])
@pytest.mark.parametrize("seed", range(4))
def test_crashes_of_either_side_lose_and_double_nothing(sites, victim, seed):
    run = sites(seed, TOTAL)
    random = Random(f"{seed}/{victim}")
    for _ in range(4):
        run.world.run_for(SECOND + random.randrange(SECOND))
        run.world.crash(victim)
        run.world.run_for(random.randrange(3 * SECOND))
        run.world.restart(victim)
    run.finish()
    run.judge()


@pytest.mark.parametrize("seed", range(4))
def test_lost_acknowledgements_lose_and_double_nothing(sites, seed):
    run = sites(seed, TOTAL)
    random = Random(seed)
    for _ in range(12):
        run.world.run_for(random.randrange(700 * MILLISECOND))
        site = random.choice(run.sites)
        run.world.cut("home", site)
        run.world.run_for(random.randrange(400 * MILLISECOND))
        run.world.mend("home", site)
    run.finish()
    run.judge()


@pytest.mark.parametrize("seed", range(6))
def test_any_mixture_of_faults_loses_and_doubles_nothing(sites, seed):
    run = sites(seed, TOTAL, sites=("east", "west", "north"))
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
                run.world.drop_client(random.choice(run.consumers))
        for broker in sorted(down):
            if random.random() < 0.5:
                run.world.restart(broker)
                down.discard(broker)
    for broker in ["home", *run.sites]:
        run.world.fill_disk(broker, full=False)
        run.world.restart(broker)
        if broker != "home":
            run.world.mend("home", broker)
    run.finish()
    run.judge()


def test_a_site_without_consumers_gets_nothing_until_one_comes(sites):
    run = sites(1, TOTAL)
    run.world.leave("worker-west")
    run.world.run_for(5 * SECOND)
    west = run.world.brokers["west"].node.services["queues"].queues["work"]
    assert west.received.total == 0
    run.world.come_back("worker-west")
    run.finish()
    run.judge()
    assert west.received.total > 0


def test_a_site_that_cannot_be_reached_is_replaced_by_the_other(sites):
    run = sites(1, TOTAL)
    run.world.run_for(5 * SECOND)
    run.world.cut("home", "west")
    run.world.run_for(20 * SECOND)
    # Everything but what west had already goes to east, though it is unknown what west stored.
    assert run.count("confirmed") == TOTAL
    assert run.history.complete()
    run.world.mend("home", "west")
    run.judge()


def test_a_full_disk_at_a_destination_sends_messages_elsewhere(sites):
    run = sites(1, TOTAL)
    run.world.run_for(4 * SECOND)
    run.world.fill_disk("west", full=True)
    run.world.run_for(4 * SECOND)
    status = status_of(
        run.world.brokers["home"].node.services["queues"].aliases["orders"], run.world.now
    )
    assert "the disk is full" in status["why"]
    run.world.fill_disk("west", full=False)
    run.finish()
    run.judge()


def test_a_full_disk_at_home_refuses_and_loses_nothing(sites):
    run = sites(1, TOTAL)
    run.world.run_for(4 * SECOND)
    run.world.fill_disk("home", full=True)
    run.world.run_for(2 * SECOND)
    assert "the disk is full" in run.produced.reasons
    run.world.fill_disk("home", full=False)
    run.finish()
    run.judge()


def test_the_same_seed_gives_the_same_history(sites):
    digests = []
    for _ in range(2):
        run = sites(3, 1000)
        run.world.run_for(4 * SECOND)
        run.world.crash("east")
        run.world.run_for(SECOND)
        run.world.restart("east")
        run.finish()
        digests.append(run.world.digest)
    assert digests[0] == digests[1]


def test_brokers_on_the_way_pass_messages_on(broker_chain):
    scenario = broker_chain({"stored": "orders", "direct": "work@far"}, 500, ())
    result = run_scenario(SimRun(scenario, 5, checked=True))
    assert result.judgement.violations == 0
    assert len(result.histories["queues"].events("consumed")["worker"].at) == 1000
