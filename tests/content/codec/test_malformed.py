"""Errors of decoders as one error."""

import msgspec
import pytest

from penstock.content.codec.malformed import UNREADABLE, MalformedMessage, malformed
from penstock.content.rows.block import MalformedBlock


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (MalformedBlock("ticks do not ascend"), "ticks do not ascend"),
        (msgspec.DecodeError("truncated"), "truncated"),
        (RecursionError("deep"), "a value is nested too deeply or too large: deep"),
        (OverflowError("large"), "a value is nested too deeply or too large: large"),
    ],
)
def test_an_error_keeps_its_text(error: Exception, text: str) -> None:
    assert isinstance(error, UNREADABLE)
    made = malformed(error)
    assert isinstance(made, MalformedMessage)
    assert str(made) == text
