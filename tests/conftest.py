"""Settings of all tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

# No test depends on how fast the machine is.
settings.register_profile("penstock", deadline=None)
settings.load_profile("penstock")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that share a Spark session first.

    One process runs all of them, one after another: begun last, they would keep the others waiting.
    """
    items.sort(key=lambda item: not _shares_spark(item))


def _shares_spark(item: pytest.Item) -> bool:
    return any(mark.args == ("spark",) for mark in item.iter_markers("xdist_group"))
