"""How a client tells the publishers that it makes from others of the same name."""

from __future__ import annotations

import secrets
from typing import Final

INSTANCE_BITS: Final = 61
"""Two publishers choose the same number once in two quintillion; it is below ``LARGEST_NUMBER``."""


def new_instance() -> int:
    """A number that no other publisher has chosen; 0 is left for those that choose none."""
    return 1 + secrets.randbits(INSTANCE_BITS)
