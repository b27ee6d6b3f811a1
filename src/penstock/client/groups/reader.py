"""A member of a group, without input or output.

1. A member joins when a connection begins, again after every reconnection, and leaves when it is
   closed.  What was sent while it was away it does not get.
2. Deliveries and views come in the broker's order.  What the program has taken is told to the
   broker when it is a quarter of the window: until then the broker counts it as waiting here.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from penstock.client.life_cycle import READER, ReaderEvent, ReaderPhase
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
"""Views that a program may leave unread; beyond, the oldest are forgotten."""


class GroupReader:
    """One client's membership in one group."""

    def __init__(self, member: str, group: str, window_bytes: int = WINDOW_BYTES) -> None:
        """Nothing was asked yet."""
        self.member = member
        self.group = group
        self.phase = ReaderPhase.AWAY
        self.problem = ""
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

    @property
    def is_over(self) -> bool:
        """Whether the member has left, or was refused."""
        return self.phase is ReaderPhase.OVER

    def close(self) -> None:
        """Leave; what was not taken counts as taken."""
        self._happens(ReaderEvent.CLOSED)
        while self.deliveries:
            self.take()

    # -- the connection's side --------------------------------------------------------------

    def connected(self) -> None:
        """A broker is there."""
        self._happens(ReaderEvent.CONNECTED)

    def disconnected(self) -> None:
        """The connection is gone, and with it the membership; what came stays."""
        self._taken_bytes = 0
        self._happens(ReaderEvent.DISCONNECTED)

    def outgoing(self) -> list[Message]:
        """What to send now."""
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
        """The broker speaks."""
        match message:
            case GroupDelivery():
                if self.phase in (ReaderPhase.ASKED, ReaderPhase.OPEN):
                    self.deliveries.append(message)
                else:
                    self._taken_bytes += message.batch.wire_size
            case GroupView():
                self.view = message
                self.views.append(message)
            case GroupJoined(_, _, problem):
                self.problem = problem
                self._happens(ReaderEvent.REFUSED if problem else ReaderEvent.ACCEPTED)
                self.joins += not problem
            case GroupLeft():
                self._happens(ReaderEvent.ENDED)

    def _happens(self, event: ReaderEvent) -> None:
        self.phase = READER.after(self.phase, event)
