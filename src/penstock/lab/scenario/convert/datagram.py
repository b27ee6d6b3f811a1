"""What the two former forms of datagram scenarios had in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.lab.scenario.convert.parts import chosen

MESSAGE_BYTES: Final = 280
QUEUE_MESSAGES: Final = 45
ACCESS_LATENCY_MS: Final = 1.0
JITTER_MS: Final = 4.0
BYTES_PER_KBIT: Final = 125

PARAMETERS: Final = ("law", "detection", "record_messages")


def parameters_of(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of the clients, if the file gave any."""
    given = chosen(raw, *PARAMETERS)
    return {"parameters": {"datagram": given}} if given else {}


def bytes_per_s(kbps: float) -> int:
    """A bandwidth that was given in Kbit/s."""
    return round(kbps * BYTES_PER_KBIT)
