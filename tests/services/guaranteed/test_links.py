from __future__ import annotations

import pytest

from penstock.core.trace import is_own_stream


@pytest.mark.parametrize(("pubend", "own"), [("telemetry@pb", True), ("orders", False)])
def test_the_streams_of_a_broker_itself_are_marked_by_their_names(pubend: str, own: bool) -> None:
    assert is_own_stream(pubend) is own
