"""Entries that alias queues of the same broker rely on."""

from __future__ import annotations

from penstock.services.queues.queue.retained_handovers import RetainedHandovers


def test_an_entry_is_retained_until_the_alias_queue_has_its_numbers(make_rows):
    retained = RetainedHandovers()
    retained.add(make_rows(10, 2, origin="handover/orders", first_sequence=100))
    retained.add(make_rows(20, 2, origin="handover/orders", first_sequence=105))
    retained.add(make_rows(15, 1, origin="handover/other", first_sequence=7))
    assert retained.lowest == 10
    retained.release("orders", 105)
    assert retained.lowest == 15
    retained.release("other", 99)
    retained.release("unknown", 99)
    assert retained.lowest == 20


def test_recovered_numbers_are_told_once(make_rows):
    retained = RetainedHandovers()
    rows = make_rows(10, 2, origin="handover/orders", producer="producer/p", producer_sequence=40)
    retained.recover(rows)
    assert retained.take_recovered() == {"orders": [("producer/p", 40, 2)]}
    assert retained.take_recovered() == {}
    assert retained.lowest == 10
