"""The destinations of an alias queue."""

from __future__ import annotations

from penstock.services.queues.alias.destinations import Destinations

NOW = 1000


def destinations_of(*addresses):
    made = Destinations("home", addresses)
    for each in made:
        each.reachable, each.consumers = True, 1
    return made


def test_takers_are_those_with_consumers():
    destinations = destinations_of("work@east", "work@west")
    destinations["work@west"].consumers = 0
    assert list(destinations.takers(NOW)) == ["work@east"]
    destinations["work@east"].retired = True
    assert list(destinations.takers(NOW)) == ["work@west"], "the only one needs no consumers"
    assert destinations.addresses == ["work@west"]
    assert destinations.is_single


def test_local_and_near_takers():
    destinations = destinations_of("work@home", "work@east")
    takers = destinations.takers(NOW)
    assert not destinations.are_local(takers)
    assert not destinations.are_near(takers, 10)
    destinations["work@east"].sent(1, 2, 10, NOW)
    destinations["work@east"].has_stored(1, 2, NOW + 10)
    assert destinations.are_near(takers, 10)
    assert not destinations.are_near(takers, 9)
    here = {"work@home": destinations["work@home"]}
    assert destinations.are_local(here)
    assert destinations.are_near(here, 1)
    assert not destinations.are_near(here, 0), "passing through is switched off"
    assert not destinations.are_local({})
    assert not destinations.are_near({}, 10)


def test_a_retired_destination_is_kept_until_it_is_done():
    destinations = destinations_of("work@east", "work@west")
    east = destinations["work@east"]
    east.retired = True
    east.decided.add(1, 2)
    destinations.forget_if_done(east)
    assert destinations.find("east", "work") is east
    assert destinations.decided() == {"work@east": [(1, 2)]}
    east.confirm(1, 2)
    destinations.forget_if_done(east)
    assert destinations.find("east", "work") is None


def test_a_retired_destination_can_be_used_again():
    destinations = destinations_of("work@east")
    destinations["work@east"].retired = True
    destinations.add("work@east")
    destinations.add("work@west")
    assert destinations.addresses == ["work@east", "work@west"]
    assert destinations.known_or_retired("work@old").retired
    assert destinations.addresses == ["work@east", "work@west"]
    assert [each.address for each in destinations.reachable] == ["work@east"]
