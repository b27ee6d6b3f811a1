"""Real brokers, each killed in turn in mid-traffic: nothing lost, twice or out of order."""

from penstock.lab.oracle.guaranteed.history import GuaranteedHistory, Outcome
from penstock.lab.run import run
from penstock.lab.scenario.model import Broker, Fault, Link, Scenario
from penstock.lab.workloads.guaranteed.tables import Publisher, Subscriber
from penstock.lab.worlds.net import NetRun

MESSAGES = 100_000
PUBLISHERS = 4

KILLING = Scenario(
    name="kill-nine",
    duration_s=45,
    drain_s=120,
    brokers=(Broker(name="pb", keys={"pubends": 4}), Broker(name="ib"), Broker(name="sb")),
    links=(Link(between=("pb", "ib")), Link(between=("ib", "sb"))),
    clients=(
        Subscriber(service="guaranteed", role="subscriber", name="all", broker="sb"),
        Subscriber(
            service="guaranteed",
            role="subscriber",
            name="some",
            broker="sb",
            selector="n < 3",
            durable=True,
        ),
        Publisher(
            service="guaranteed",
            role="publisher",
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
    result = run(NetRun(KILLING, seed=1))
    history = result.histories["guaranteed"]
    assert isinstance(history, GuaranteedHistory)
    assert history.count(Outcome.ACKNOWLEDGED) == MESSAGES
    assert not result.judgement.violations, result.judgement.examples
    received = history.subscribers["all"]
    assert len(received) >= MESSAGES * 0.99, "what came before the subscription may be missing"
