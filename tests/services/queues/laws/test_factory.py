"""One factory chooses the law, and no other module of the service compares it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import penstock.services.queues as service
from penstock.core.clock import SECOND
from penstock.services.queues.laws.factory import MEASURING_LAWS, balancing_law
from penstock.services.queues.laws.fixed import FixedBalancing
from penstock.services.queues.laws.improved import ImprovedBalancing
from penstock.services.queues.laws.paper import PaperBalancing
from penstock.services.queues.parameters import AliasConfig


def law(**config):
    return balancing_law(AliasConfig("q", ("a@x", "b@y"), **config))


@pytest.mark.parametrize(
    ("name", "kind"), [("paper", PaperBalancing), ("improved", ImprovedBalancing)]
)
def test_flow_control_uses_the_law(name, kind):
    assert type(law(law=name)) is kind
    assert MEASURING_LAWS[name] is kind


@pytest.mark.parametrize("balancing", ["round-robin", "weighted"])
def test_other_balancing_uses_fixed_weights_and_shows_the_period_of_the_law(balancing):
    chosen = law(balancing=balancing, weights={"a": 3}, law="paper")
    assert type(chosen) is FixedBalancing
    assert chosen.first_period_ns == 10 * SECOND
    expected = {"a": 6, "b": 2} if balancing == "weighted" else {"a": 4, "b": 4}
    assert chosen.allot(8, ["a", "b"]) == expected


def test_no_other_module_compares_the_law():
    folder = Path(service.__file__).parent
    comparing = [
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        if re.search(r"""law\s*(==|!=|is|in)\s*\(?["']|balancing\s*(==|!=)""", path.read_text())
    ]
    assert comparing == ["laws/factory.py"]
