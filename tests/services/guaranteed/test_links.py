from __future__ import annotations

import pytest

from penstock.services.guaranteed.links import LOCAL_EDGE, LOCAL_RELAY, stays_inside


@pytest.mark.parametrize("link", [LOCAL_EDGE, LOCAL_RELAY])
def test_the_links_inside_a_broker_stay_inside(link: str) -> None:
    assert stays_inside(link)


def test_a_neighbour_is_outside() -> None:
    assert not stays_inside("broker-1")
