"""How a client tells the publishers that it makes from others of the same name."""

from __future__ import annotations

import secrets
from typing import Final

INSTANCE_BITS: Final = 62
"""Two publishers choose the same number once in four quintillion; it fits a signed 64-bit field."""


def new_instance() -> int:
    """A number that no other publisher has chosen; 0 is left for those that choose none."""
    return 1 + secrets.randbits(INSTANCE_BITS)
