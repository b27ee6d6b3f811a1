"""What every queue and alias queue of one broker is constructed with."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.core.clock import Instant
from penstock.core.tokens import Tokens
from penstock.services.queues.parameters import QueueParameters


class QueueContext(msgspec.Struct, frozen=True):
    """The broker's name, parameters and tokens, and what its store held when it started.

    ``saved`` holds the small state by key.  ``logs`` holds the first position, the end and the
    stored bytes of each log.
    """

    broker: str
    parameters: QueueParameters
    tokens: Tokens
    saved: Mapping[str, bytes]
    logs: Mapping[str, tuple[int, int, int]]
    now: Instant
