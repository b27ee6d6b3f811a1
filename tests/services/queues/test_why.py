"""Why messages wait in an alias queue."""

from __future__ import annotations

from penstock.core.clock import SECOND
from penstock.services.queues.alias.destinations import Destinations
from penstock.services.queues.laws.balancer import Balancer, LoadSample
from penstock.services.queues.laws.fixed import FixedBalancing
from penstock.services.queues.parameters import QueueParameters
from penstock.services.queues.why import explain

NOW = 1000 * SECOND


def test_each_destination_says_what_it_does_or_why_it_gets_nothing():
    destinations = Destinations("home", ("work@east", "work@west", "work@north"))
    balancer = Balancer(FixedBalancing({}, SECOND), 0.001, QueueParameters(), NOW)
    for name in ("work@east", "work@west"):
        destinations[name].reachable, destinations[name].consumers = True, 1
    balancer.report("work@east", LoadSample(1, 0, 0, 0, 0))
    balancer.report("work@east", LoadSample(1, SECOND, 7, 100, SECOND))
    assert explain(destinations, balancer, NOW) == (
        "work@east takes 100 messages/s, 7 waiting there; "
        "work@west takes an unknown rate, an unknown number waiting there; "
        "work@north broker 'north' cannot be reached"
    )


def test_an_alias_queue_without_destinations_says_so():
    balancer = Balancer(FixedBalancing({}, SECOND), 0.001, QueueParameters(), NOW)
    assert explain(Destinations("home", ()), balancer, NOW) == "it has no destinations"
