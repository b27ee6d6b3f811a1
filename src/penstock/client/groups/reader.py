"""A member of a group, without input or output.

1. A member joins when a connection begins, again after every reconnection, and leaves when it is
   closed.  What was sent while it was away it does not get.
2. Deliveries and views come in the broker's order.  What the program has taken is told to the
   broker when it is a quarter of the window: until then the broker counts it as waiting here.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from penstock.client.errors import PenstockError
from penstock.client.life_cycle import ReaderEvent, ReaderPhase
from penstock.client.pure_reader import PureReader
from penstock.core.clock import Instant
from penstock.core.message import Message
from penstock.services.multicast.messages import (
    GroupDelivery,
    GroupJoined,
    GroupLeft,
    GroupTaken,
    GroupView,
    JoinGroup,
    LeaveGroup,
)

WINDOW_BYTES: Final = 4 << 20
"""What a member takes in advance; the broker cuts it to its own limit."""

UNREAD_VIEWS: Final = 1000
"""Views that a program may leave unread; beyond, the oldest are dropped."""


class JoinRefusedError(PenstockError):
    """The broker refused to let this client join a group, and said why."""

    def __init__(self, group: str, reason: str) -> None:
        """``reason`` is the broker's text."""
        super().__init__(f"cannot join group {group!r}: {reason}")
        self.group = group
        self.reason = reason


class GroupReader(PureReader):
    """One client's membership in one group."""

    def __init__(self, member: str, group: str, window_bytes: int = WINDOW_BYTES) -> None:
        """``member`` is the client's name; at most ``window_bytes`` wait here unread."""
        super().__init__()
        self.member = member
        self.group = group
        self.view: GroupView | None = None
        self.views: deque[GroupView] = deque(maxlen=UNREAD_VIEWS)
        self.deliveries: deque[GroupDelivery] = deque()
        self.joins = 0
        self._window_bytes = window_bytes
        self._taken_bytes = 0

    # -- the application's side -------------------------------------------------------------

    def take(self) -> GroupDelivery:
        """The next messages; they count as taken."""
        delivery = self.deliveries.popleft()
        self._taken_bytes += delivery.batch.wire_size
        return delivery

    @property
    def owes_word(self) -> bool:
        """Whether the broker should hear of what was taken."""
        return 4 * self._taken_bytes >= self._window_bytes

    def close(self) -> None:
        """Leave; what was not taken counts as taken."""
        super().close()
        while self.deliveries:
            self.take()

    # -- the connection's side --------------------------------------------------------------

    def disconnected(self, reason: str = "", *, taken_over: str = "") -> None:
        """The connection has ended, and with it the membership; what arrived can be read."""
        self._taken_bytes = 0
        super().disconnected()

    def outgoing(self, now: Instant = 0) -> list[Message]:
        """What to send now; the time does not matter."""
        out: list[Message] = []
        if self.phase is ReaderPhase.UNASKED:
            self._happens(ReaderEvent.REQUESTED)
            out.append(JoinGroup(self.member, self.group, self._window_bytes))
        elif self.phase is ReaderPhase.CLOSING:
            self._happens(ReaderEvent.ANNOUNCED)
            out.append(LeaveGroup(self.member, self.group))
        if self._taken_bytes and (self.owes_word or self.is_over):
            # Also of what came while leaving: the client's other groups share the window.
            out.append(GroupTaken(self.member, self._taken_bytes))
            self._taken_bytes = 0
        return out

    def received(self, message: Any) -> None:
        """Handle a message of the broker."""
        match message:
            case GroupDelivery():
                if self.phase in (ReaderPhase.ASKED, ReaderPhase.OPEN):
                    self.deliveries.append(message)
                else:
                    self._taken_bytes += message.batch.wire_size
            case GroupView():
                self.view = message
                self.views.append(message)
            case GroupJoined(_, _, problem) if problem:
                self.fail(JoinRefusedError(self.group, problem), ReaderEvent.REFUSED)
            case GroupJoined():
                self._happens(ReaderEvent.ACCEPTED)
                self.joins += 1
            case GroupLeft():
                self._happens(ReaderEvent.ENDED)
