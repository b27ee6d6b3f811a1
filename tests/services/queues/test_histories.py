"""Whole histories in the simulator, with faults, judged by what the consumers saw."""

from __future__ import annotations

from random import Random

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND, SECOND
from penstock.overlay.node import node_config
from penstock.papers.store_and_forward.workload import RatedConsumer, RatedProducer
from penstock.services.queues.parameters import AliasConfig, QueueConfig
from penstock.services.queues.status import status_of
from penstock.sim.link import LinkModel
from penstock.sim.world import EPOCH, SimWorld

TOTAL = 6000


def numbered(first: int, count: int) -> Batch:
    return Batch.from_rows([({"n": first + each}, b"") for each in range(count)])


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


def test_a_site_without_consumers_gets_nothing_until_one_comes(sites):
    run = sites(1)
    run.produce(TOTAL)
    run.world.start()
    run.world.leave("worker-west")
    run.world.run_for(5 * SECOND)
    west = run.world.brokers["west"].node.services["queues"].queues["work"]
    assert west.received.total == 0
    run.world.come_back("worker-west")
    run.finish(TOTAL)
    run.judge(TOTAL)
    assert west.received.total > 0


def test_a_site_that_cannot_be_reached_is_replaced_by_the_other(sites):
    run = sites(1)
    run.produce(TOTAL)
    run.world.start()
    run.world.run_for(5 * SECOND)
    run.world.cut("home", "west")
    run.world.run_for(20 * SECOND)
    # Everything but what west had already goes to east, though it is unknown what west stored.
    assert len(run.seen) == TOTAL
    run.world.mend("home", "west")
    run.judge(TOTAL)


def test_a_full_disk_at_a_destination_sends_messages_elsewhere(sites):
    run = sites(1)
    run.produce(TOTAL)
    run.world.start()
    run.world.run_for(4 * SECOND)
    run.world.fill_disk("west", full=True)
    run.world.run_for(4 * SECOND)
    status = status_of(
        run.world.brokers["home"].node.services["queues"].aliases["orders"], run.world.now
    )
    assert "the disk is full" in status["why"]
    run.world.fill_disk("west", full=False)
    run.finish(TOTAL)
    run.judge(TOTAL)


def test_a_full_disk_at_home_refuses_and_loses_nothing(sites):
    run = sites(1)
    run.produce(TOTAL)
    run.world.start()
    run.world.run_for(4 * SECOND)
    run.world.fill_disk("home", full=True)
    run.world.run_for(2 * SECOND)
    assert "the disk is full" in run.producers[0].refusals
    run.world.fill_disk("home", full=False)
    run.finish(TOTAL)
    run.judge(TOTAL)


def test_the_same_seed_gives_the_same_history(sites):
    digests = []
    for _ in range(2):
        run = sites(3)
        run.produce(1000)
        run.world.start()
        run.world.run_for(4 * SECOND)
        run.world.crash("east")
        run.world.run_for(SECOND)
        run.world.restart("east")
        run.finish(1000)
        digests.append(run.world.digest)
    assert digests[0] == digests[1]


def test_brokers_on_the_way_pass_messages_on():
    world = SimWorld(5, checked=True)
    alias = AliasConfig("orders", ("work@far",))
    world.add_broker(node_config("home", {"middle": 1}, aliases=(alias,)))
    world.add_broker(node_config("middle", {"home": 1, "far": 1}))
    world.add_broker(node_config("far", {"middle": 1}, queues=(QueueConfig("work"),)))
    world.add_link("home", "middle", LinkModel())
    world.add_link("middle", "far", LinkModel())
    worker = RatedConsumer("worker", "work", lambda now: 5000.0, prefetch=100)
    world.add_client("worker", worker, "far")
    for name, queue in (("stored", "orders"), ("direct", "work@far")):
        producer = RatedProducer(
            name,
            queue,
            numbered,
            Random(1),
            rate_msgs_per_s=1000,
            run=10,
            total=500,
            start_at=EPOCH + 3 * SECOND,
            jitter_ns=0,
        )
        world.add_client(name, producer, "home")
    world.start()
    world.run_for(10 * SECOND)
    assert worker.done == 1000
