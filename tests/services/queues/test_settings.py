"""The keys of BROKER.toml, and the machine built from them."""

from __future__ import annotations

import pytest

from penstock.services.queues.parameters import AliasConfig, QueueConfig, QueueParameters
from penstock.services.queues.settings import QueuesSettings, QueuesTable

WORK, ORDERS = QueueConfig("work"), AliasConfig("orders", ("work@east",))


def test_the_tables_become_settings():
    parameters = QueueParameters(memory_bytes=7)
    table = QueuesTable({"work": WORK}, {"orders": ORDERS}, parameters)
    table.check("b")
    assert table.settings_for("b") == QueuesSettings((WORK,), (ORDERS,), parameters)


def test_a_configuration_that_cannot_work_is_refused():
    with pytest.raises(ValueError, match="share this name"):
        QueuesTable({"a": QueueConfig("a")}, {"a": AliasConfig("a", ("b@c",))}).check("b")
