"""The gate of a pubend at the links of its own broker."""

from __future__ import annotations

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.guaranteed.laws.link_backlog import FIRST_BYTES
from penstock.services.guaranteed.links import LOCAL_EDGE
from penstock.services.guaranteed.source.link_gate import HELD_NS, LinkGate

STEP = 50 * MILLISECOND


def gate(*links: str, enabled: bool = True) -> LinkGate:
    made = LinkGate("p", enabled=enabled)
    made.follow(dict.fromkeys(links))
    return made


def test_nobody_waits_without_a_link() -> None:
    assert gate().takes(1 << 30, 0)
    assert gate(LOCAL_EDGE).takes(1 << 30, 0)
    assert gate("b", enabled=False).takes(1 << 30, 0)


def test_a_burst_passes_and_the_next_measurement_opens_the_gate() -> None:
    made = gate("b")
    assert made.takes(FIRST_BYTES - 1, 0)
    made.sent(FIRST_BYTES, {"b": FIRST_BYTES}, 0)
    assert not made.takes(0, 0)
    made.measured({}, STEP)
    assert made.takes(0, STEP)


def test_what_a_link_does_not_get_is_not_held_against_it() -> None:
    """Its subscribers want a hundredth of the stream."""
    made = gate("b")
    for number in range(100):
        made.sent(1000, {"b": 10}, number)
    made.measured({}, STEP)
    assert made.takes(10 * FIRST_BYTES, STEP)


def test_only_the_flow_of_the_pubend_counts() -> None:
    made = gate("b")
    made.measured({"b": {"q": 1 << 20, "p/answers": 1 << 20}}, STEP)
    assert made.takes(0, STEP)


def test_a_lost_link_holds_nobody() -> None:
    made = gate("b")
    made.sent(FIRST_BYTES, {"b": FIRST_BYTES}, 0)
    made.forget("b")
    assert made.takes(0, 0)


def test_it_looks_after_its_own_links_and_those_that_reported() -> None:
    made = gate("b")
    assert made.watches("a->b", "a", 0)
    assert not made.watches("a->c", "a", 0)
    assert not made.watches("b->c", "a", 0)
    made.reported("b->c", 1000, 1000.0, 0)
    assert made.watches("b->c", "a", SECOND)
    assert not made.watches("b->c", "a", 3 * SECOND)


def test_a_link_is_named_when_publications_wait_for_it_for_a_second_and_until_they_do_not() -> None:
    made = gate("b")
    now = 0
    while made.full is None:
        now += STEP
        made.sent(5000, {"b": 5000}, now)
        made.measured({"b": {"p": 30_000}}, now)
        made.explain("a", True, 0, now)
        assert now < 3 * SECOND
    assert now >= HELD_NS
    assert made.full.name == "a->b"
    assert 90_000 < made.full.rate_bytes_per_s < 110_000
    told = made.explain("a", False, 0, now + STEP)
    assert not told
    assert made.explain("a", False, 0, now + STEP + HELD_NS)
    assert made.full is None
