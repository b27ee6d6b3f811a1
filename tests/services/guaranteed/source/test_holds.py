"""Who needs a pubend's log, and from where on."""

from __future__ import annotations

import msgspec

from penstock.core.clock import SECOND
from penstock.services.guaranteed.messages import DurableClaim
from penstock.services.guaranteed.source.holds import Holds

EXPIRY = 60 * SECOND


def test_a_new_log_has_no_claims() -> None:
    assert Holds().lowest(0, EXPIRY, 99) == 99
    assert Holds().describe_lowest() == "nothing holds it; it is within its retention"


def test_the_lowest_claim_counts_and_names_its_holder() -> None:
    holds = Holds()
    holds.claim_live("a", 1, 50, 0)
    holds.claim_durable("b", DurableClaim(30, "durable subscription 'x'"))
    holds.claim_live("c", 1, 70, 0)

    assert holds.lowest(0, EXPIRY, 99) == 30
    assert holds.describe_lowest() == (
        "durable subscription 'x' at broker 'b' has consumed only up to tick 30; let it read on, "
        "or delete it if it is not needed any more"
    )
    holds.claim_live("a", 1, 20, 0)
    assert holds.describe_lowest() == "subscriptions at broker 'a' have consumed only up to tick 20"


def test_only_a_durable_claim_outlives_silence() -> None:
    holds = Holds()
    holds.claim_live("plain", 1, 10, 0)
    holds.claim_durable("durable", DurableClaim(50, "x"))

    assert holds.lowest(EXPIRY, EXPIRY, 99) == 10
    assert holds.lowest(EXPIRY + 1, EXPIRY, 99) == 50
    assert holds.lowest(1000 * EXPIRY, EXPIRY, 99) == 50


def test_a_released_claim_holds_nothing() -> None:
    holds = Holds()
    holds.claim_durable("b", DurableClaim(30, "x"))
    holds.claim_durable("b", None)

    assert holds.lowest(0, EXPIRY, 99) == 99
    assert holds.durable_of("b") is None


def test_only_durable_claims_are_saved() -> None:
    holds = Holds()
    holds.claim_live("plain", 1, 10, 0)
    holds.claim_durable("durable", DurableClaim(50, "cursor 'c'"))
    restored = Holds()
    restored.load(holds.save())

    assert restored.durable() == {"durable": DurableClaim(50, "cursor 'c'")}


def test_claims_without_a_holder_are_read_too() -> None:
    """So they were saved before claims named their holder."""
    holds = Holds()
    holds.load(msgspec.msgpack.encode({"b": 30}))

    assert holds.durable() == {"b": DurableClaim(30, "durable subscriptions")}


def test_the_live_claim_of_an_edge_that_crashed_is_kept_until_it_expires() -> None:
    """The edge does not remember who was connected; they come back and go on where they stood."""
    holds = Holds()
    holds.claim_live("a", 1, 10, 0)
    holds.claim_live("a", 2, None, SECOND)
    assert holds.lowest(EXPIRY, EXPIRY, 99) == 10

    holds.claim_live("a", 2, 50, EXPIRY)
    assert holds.lowest(EXPIRY + 1, EXPIRY, 99) == 50
