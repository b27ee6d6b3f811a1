"""The optimum: feasible, fair as it claims, and the same by both kinds where they agree."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.papers.held_out.optimum import (
    SharedFlow,
    alpha_fair,
    link_use,
    max_min,
    prices,
)

LINKS = ("a", "b", "c", "d")
NEARLY = 1e-6


@st.composite
def networks(draw: st.DrawFn) -> tuple[dict[str, float], list[SharedFlow]]:
    capacities = {link: draw(st.floats(1e3, 1e6)) for link in LINKS}
    flows = [
        SharedFlow(
            f"f{number}",
            {
                link: draw(st.sampled_from((1.0, 1.0, 0.9)))
                for link in draw(st.sets(st.sampled_from(LINKS), min_size=1))
            },
            draw(st.floats(1e2, 2e6)),
            draw(st.sampled_from((0.5, 1.0, 2.0))),
        )
        for number in range(draw(st.integers(1, 6)))
    ]
    return capacities, flows


def is_feasible(
    capacities: dict[str, float], flows: list[SharedFlow], rates: dict[str, float]
) -> bool:
    use = link_use(flows, rates)
    return all(use[link] <= capacities[link] * (1 + NEARLY) for link in use) and all(
        0 < rates[each.name] <= each.demand * (1 + NEARLY) for each in flows
    )


def test_one_link_is_shared_equally_by_those_who_want_more() -> None:
    flows = [
        SharedFlow(name, {"a": 1.0}, demand) for name, demand in (("x", 10), ("y", 99), ("z", 99))
    ]
    assert max_min({"a": 70.0}, flows) == {"x": 10, "y": 30, "z": 30}


def test_a_flow_that_another_link_limits_leaves_the_rest() -> None:
    flows = [
        SharedFlow("long", {"a": 1.0, "b": 1.0}, 1e9),
        SharedFlow("short", {"a": 1.0}, 1e9),
    ]
    assert max_min({"a": 100.0, "b": 20.0}, flows) == {"long": 20.0, "short": 80.0}


def test_without_a_limited_link_everybody_gets_what_it_wants() -> None:
    assert max_min({}, [SharedFlow("x", {}, 5.0)]) == {"x": 5.0}


@given(networks())
def test_no_rate_can_rise_without_lowering_one_that_is_not_larger(
    network: tuple[dict[str, float], list[SharedFlow]],
) -> None:
    capacities, flows = network
    rates = max_min(capacities, flows)

    assert is_feasible(capacities, flows, rates)
    use = link_use(flows, rates)
    for flow in flows:
        rate = rates[flow.name]
        held_by_link = any(
            use[link] >= capacities[link] * (1 - NEARLY)
            and all(rates[each.name] <= rate * (1 + NEARLY) for each in flows if link in each.uses)
            for link in flow.uses
        )
        assert held_by_link or rate >= flow.demand * (1 - NEARLY)


@settings(max_examples=60, deadline=None)
@given(networks(), st.sampled_from((1 / 3, 1 / 2, 1.0, 2.0)))
def test_the_prices_of_an_alpha_fair_optimum_explain_every_rate(
    network: tuple[dict[str, float], list[SharedFlow]], alpha: float
) -> None:
    """The KKT conditions: a price for each full link, none for the others, such that each flow has
    the rate that it wants at the sum of its prices, or its demand if it wants more."""
    capacities, flows = network
    rates = alpha_fair(capacities, flows, alpha)

    assert is_feasible(capacities, flows, rates)
    asked = prices(capacities, flows, rates, alpha)
    for flow in flows:
        price = sum(use * asked.get(link, 0.0) for link, use in flow.uses.items())
        marginal = (flow.weight / rates[flow.name]) ** alpha
        if rates[flow.name] < flow.demand * (1 - 1e-3):
            assert price == pytest.approx(marginal, rel=0.05)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(1e3, 1e6),
    st.lists(st.floats(1e2, 1e6), min_size=1, max_size=6),
    st.sampled_from((1 / 3, 1 / 2, 1.0, 2.0)),
)
def test_on_one_link_all_kinds_of_fairness_agree(
    capacity: float, demands: list[float], alpha: float
) -> None:
    flows = [SharedFlow(f"f{at}", {"a": 1.0}, each) for at, each in enumerate(demands)]

    expected = max_min({"a": capacity}, flows)

    assert alpha_fair({"a": capacity}, flows, alpha) == pytest.approx(expected, rel=1e-3)


def test_a_long_path_gets_what_the_exponent_says() -> None:
    """On a chain of n full links the long flow has (1/n)^(1/α) of the rate of a short one."""
    flows = [SharedFlow("long", dict.fromkeys(LINKS, 1.0), 1e9)]
    flows += [SharedFlow(link, {link: 1.0}, 1e9) for link in LINKS]

    rates = alpha_fair(dict.fromkeys(LINKS, 1e5), flows, 0.5)

    assert rates["a"] / rates["long"] == pytest.approx(16, rel=1e-2)
