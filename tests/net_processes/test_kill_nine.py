"""Real brokers, each killed in turn in mid-traffic: nothing lost, twice or out of order."""

from penstock.lab.run import run
from penstock.lab.scenario.model import Broker, Fault, Link, Publishers, Scenario, Subscribers
from penstock.lab.worlds.net import NetRun
from penstock.sim.history import Outcome

MESSAGES = 100_000
PUBLISHERS = 4

KILLING = Scenario(
    name="kill-nine",
    duration_s=45,
    drain_s=120,
    brokers={"pb": Broker(pubends=4), "ib": Broker(), "sb": Broker()},
    links=(Link(between=("pb", "ib")), Link(between=("ib", "sb"))),
    publishers=(
        Publishers(
            name="p",
            count=PUBLISHERS,
            broker="pb",
            pubend="pb.{i+1}",
            # The subscribers are there first: what was published before is not theirs.
            start_s=2,
            # A broker that is killed every few seconds finds traffic all the time.
            rate_msgs_per_s=MESSAGES / PUBLISHERS / 30,
            batch_rows=25,
            messages=MESSAGES // PUBLISHERS,
            attributes={"n": "cycle:0..10"},
        ),
    ),
    subscribers=(
        Subscribers(name="all", broker="sb"),
        Subscribers(name="some", broker="sb", selector="n < 3", durable=True),
    ),
    faults=tuple(
        fault
        for at_s, broker in enumerate(("pb", "ib", "sb", "pb", "ib", "sb"))
        for fault in (
            Fault(at_s=3 + 5 * at_s, crash=broker),
            Fault(at_s=3 + 5 * at_s + 0.5, restart=broker),
        )
    ),
)


def test_every_broker_can_be_killed_in_mid_traffic() -> None:
    result = run(KILLING, NetRun(KILLING, seed=1))
    assert result.history.count(Outcome.ACKNOWLEDGED) == MESSAGES
    assert not result.judgement.violations, result.judgement.examples
    received = result.history.subscribers["all"]
    assert len(received) >= MESSAGES * 0.99, "what came before the subscription may be missing"
