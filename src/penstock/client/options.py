"""What can be set for a client as a whole."""

from __future__ import annotations

import msgspec

from penstock.client.publishing.limits import PublishLimits
from penstock.client.session import SessionOptions


class ClientOptions(msgspec.Struct, frozen=True):
    """Deadlines, limits of publishers, and how the client connects."""

    deadline_s: float = 30.0
    """How long a call may wait unless it is given a deadline of its own; ``math.inf`` is for ever.
    Longer than a broker takes to restart, shorter than a person's patience."""

    publish: PublishLimits = PublishLimits()
    session: SessionOptions = SessionOptions()
