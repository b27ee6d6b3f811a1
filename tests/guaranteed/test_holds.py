"""Who needs a pubend's log, and from where on."""

from __future__ import annotations

from penstock.core.clock import SECOND
from penstock.guaranteed.holds import Holds

EXPIRY = 60 * SECOND


def test_nobody_holds_anything_at_first() -> None:
    assert Holds().lowest(0, EXPIRY, 99) == 99
    assert Holds().describe_lowest() == "nothing holds it; it is within its retention"


def test_the_lowest_hold_counts() -> None:
    holds = Holds()
    holds.acknowledge("a", 50, False, 0)
    holds.acknowledge("b", 30, True, 0)
    holds.acknowledge("c", 70, False, 0)

    assert holds.lowest(0, EXPIRY, 99) == 30
    assert holds.describe_lowest() == (
        "durable subscriptions at broker 'b' have consumed only up to tick 30"
    )


def test_only_a_durable_hold_outlives_silence() -> None:
    holds = Holds()
    holds.acknowledge("plain", 10, False, 0)
    holds.acknowledge("durable", 50, True, 0)

    assert holds.lowest(EXPIRY, EXPIRY, 99) == 10
    assert holds.lowest(EXPIRY + 1, EXPIRY, 99) == 50
    assert holds.lowest(1000 * EXPIRY, EXPIRY, 99) == 50


def test_the_owner_is_told_when_what_must_survive_a_crash_has_changed() -> None:
    holds = Holds()

    assert not holds.acknowledge("a", 10, False, 0)
    assert not holds.acknowledge("a", 20, False, 1)
    assert holds.acknowledge("a", 20, True, 2)
    assert not holds.acknowledge("a", 20, True, 3)
    assert holds.acknowledge("a", 21, True, 4)
    assert holds.acknowledge("a", 21, False, 5)
    assert holds.acknowledge("b", 5, True, 6)


def test_only_durable_holds_are_saved() -> None:
    holds = Holds()
    holds.acknowledge("plain", 10, False, 0)
    holds.acknowledge("durable", 50, True, 0)
    restored = Holds()
    restored.load(holds.save(), now=5)

    assert restored.lowest(1000 * EXPIRY, EXPIRY, 99) == 50
