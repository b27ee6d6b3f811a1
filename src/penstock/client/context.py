"""What the facades of services use of their client: its name, options, session and requests."""

from __future__ import annotations

from typing import Any

from penstock.client.addresses import Address
from penstock.client.errors import Disconnected
from penstock.client.options import ClientOptions
from penstock.client.requests import Requests
from penstock.client.session import Session
from penstock.core.message import Request


class ClientContext:
    """Shared by a client and its facades."""

    def __init__(self, name: str, options: ClientOptions) -> None:
        """Not connected before ``connect``."""
        self.name = name
        self.options = options
        self.session_or_none: Session | None = None
        self._requests: Requests | None = None

    async def connect(self, addresses: tuple[Address, ...]) -> None:
        """Open the session, once; raises ``ConnectionFailed``."""
        if self.session_or_none is not None:
            return
        session = Session(self.name, addresses, self.options.session)
        self.session_or_none = session
        self._requests = Requests(session)
        try:
            await session.start()
        except BaseException:
            await session.stop("the attempt to connect was given up")
            raise

    @property
    def session(self) -> Session:
        """The session; raises ``Disconnected`` if the client was not connected yet."""
        if self.session_or_none is None:
            raise Disconnected(
                "this client is not connected yet: write `async with penstock.connect(url) as "
                "client`, or `client = await penstock.connect(url)`"
            )
        return self.session_or_none

    async def ask(self, request: Request, deadline_s: float | None) -> Any:
        """The broker's answer to a request, whatever it says."""
        return await self._open_requests().ask(request, self.limit_s(deadline_s))

    async def carry_out(
        self, request: Request, deadline_s: float | None = None, what: str = ""
    ) -> Any:
        """The answer to a request that was carried out; raises ``PenstockError`` if it was not."""
        return await self._open_requests().carry_out(request, self.limit_s(deadline_s), what)

    def _open_requests(self) -> Requests:
        self.session  # noqa: B018 - raises if there is none
        assert self._requests is not None
        return self._requests

    def limit_s(self, deadline_s: float | None) -> float:
        """The deadline of a call: its own, or the client's."""
        return self.options.deadline_s if deadline_s is None else deadline_s
