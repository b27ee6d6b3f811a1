"""Senders that ignore the delay."""

from __future__ import annotations

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.datagram.laws.rivals import ALONE_NS, PERSISTENT_NS, Rivals

BEGIN = 64 * SECOND + 10 * MILLISECOND


def test_a_rival_takes_the_law_out_of_force_until_a_common_instant() -> None:
    rivals, now = Rivals(), BEGIN
    rivals.look(200.0, high=False, now=now)
    for _ in range(PERSISTENT_NS // (50 * MILLISECOND) + 2):
        now += 50 * MILLISECOND
        rivals.look(80.0, high=True, now=now)
    assert rivals.present(now)
    assert 70.0 < rivals.least_rate(high=True) <= 80.0
    assert not rivals.present((now // ALONE_NS + 1) * ALONE_NS)


def test_a_link_that_loses_half_of_its_capacity_is_no_rival() -> None:
    rivals, now = Rivals(), BEGIN
    rivals.look(200.0, high=True, now=now)
    for step in range(200):
        now += 50 * MILLISECOND
        rivals.look(90.0, high=step < 20, now=now)
    assert not rivals.present(now)
