"""The broker as fixtures of pytest.

    pytest_plugins = ["penstock.testing.fixtures"]      # in the conftest.py at the top

    @pytest.mark.penstock(queues=["orders"])
    async def test_orders_are_booked(penstock_broker): ...

Nothing is registered as an entry point: projects that do not ask for the fixtures pay nothing for
them.  ``penstock_broker`` needs pytest-asyncio, or another plugin that runs asynchronous fixtures;
``penstock_blocking_broker`` needs pytest alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from penstock.testing.blocking import BlockingBroker, blocking_broker
from penstock.testing.broker import Broker, broker

try:
    from pytest_asyncio import fixture as async_fixture
except ImportError:
    async_fixture = pytest.fixture  # type: ignore[assignment]

MARKER = "penstock"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, for those who run with ``--strict-markers``."""
    line = f"{MARKER}(**options): the options of penstock.testing.broker for this test's broker"
    config.addinivalue_line("markers", line)


def _options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What the markers say, the nearest last."""
    options: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers(MARKER))):
        if marker.args:
            raise pytest.UsageError(
                f"pytest.mark.{MARKER} takes options by name, such as "
                f"@pytest.mark.{MARKER}(queues=['orders'])"
            )
        options.update(marker.kwargs)
    return options


@async_fixture
async def penstock_broker(request: pytest.FixtureRequest) -> AsyncIterator[Broker]:
    """A broker in memory with virtual time, for asynchronous tests."""
    async with broker(**_options(request)) as made:
        yield made


@pytest.fixture
def penstock_blocking_broker(request: pytest.FixtureRequest) -> Iterator[BlockingBroker]:
    """A broker in memory with virtual time, for tests without an event loop."""
    with blocking_broker(**_options(request)) as made:
        yield made
