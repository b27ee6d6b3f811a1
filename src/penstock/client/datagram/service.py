"""The datagram service, as a client offers it."""

from __future__ import annotations

import secrets

from penstock.client.datagram.datagram import Datagrams
from penstock.client.facade import ServiceFacade
from penstock.services.datagram.parameters import DatagramParameters


class DatagramService(ServiceFacade):
    """Best-effort publish/subscribe: lowest delay, no promise."""

    def datagrams(
        self,
        name: str | None = None,
        *,
        publishes: bool = True,
        parameters: DatagramParameters | None = None,
    ) -> Datagrams:
        """A participant of the service, to be used as an ``async with`` block.

        A client has one at a time.
        """
        context = self._context
        return Datagrams(
            context.session,
            name or f"{context.name}-{secrets.token_hex(4)}",
            parameters or DatagramParameters(),
            publishes=publishes,
            deadline_s=context.options.deadline_s,
        )
