"""What both profiles of the codec say of bytes that are not a message."""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.content.rows.block import MalformedBlock


class MalformedMessage(ValueError):
    """These bytes are not a message of this protocol."""


UNREADABLE: Final = (
    msgspec.MsgspecError,
    MalformedBlock,
    UnicodeDecodeError,
    RecursionError,
    OverflowError,
)
"""Everything that a decoder raises for hostile bytes."""


def malformed(error: Exception) -> MalformedMessage:
    """One of ``UNREADABLE`` as the error that a reader of messages handles."""
    if isinstance(error, RecursionError | OverflowError):
        return MalformedMessage(f"a value is nested too deeply or too large: {error}")
    return MalformedMessage(str(error))
