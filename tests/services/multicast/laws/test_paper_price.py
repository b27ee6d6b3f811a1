"""The paper's price: exponential in the buffer, with a soft limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.services.multicast.laws.paper_price import BufferPrice, paper_price
from penstock.services.multicast.parameters import PaperLaw

LAW = PaperLaw()
packets = st.floats(0, 1e6)


def test_an_empty_buffer_costs_nothing_and_a_full_one_all_savings() -> None:
    assert paper_price(0, LAW) == 0
    assert paper_price(100, LAW) == pytest.approx(20)


def test_from_97_packets_on_nobody_can_pay() -> None:
    """The soft limit at work: a packet costs the fee besides."""
    assert LAW.processing_fee + paper_price(96, LAW) < LAW.prohibitive_cost
    assert LAW.processing_fee + paper_price(97, LAW) > LAW.prohibitive_cost


@given(packets, packets)
def test_the_price_rises_with_the_buffer(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert paper_price(low, LAW) <= paper_price(high, LAW) < 1e6


def test_what_the_link_itself_would_hold_is_not_priced() -> None:
    law = PaperLaw(unacknowledged_packets=20)
    assert paper_price(20, law) == 0
    assert paper_price(60, law) == paper_price(40, LAW) > 0


def test_a_links_price_follows_its_buffer_and_not_what_packets_paid() -> None:
    price = BufferPrice(LAW)
    price.arrived(500.0, 9.0, 3, 0)
    price.issued(4, 0)
    assert price.update(60.0, 1) == paper_price(60.0, LAW)
    assert price.update(0.0, 2) == 0.0
