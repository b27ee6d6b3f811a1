"""Applications of the network world that can leave and come back, on a new connection each time."""

from __future__ import annotations

import asyncio
import math
from typing import Final

from penstock.client.client import Client, ClientOptions, connect
from penstock.client.errors import PenstockError
from penstock.client.session import SessionOptions

OPTIONS: Final = ClientOptions(
    deadline_s=math.inf, session=SessionOptions(connect_within_s=60.0, reconnect_for_s=None)
)
"""A client of a run outlasts every failure of its broker."""

FAREWELL_S: Final = 5.0
"""Deadline for a client to close."""


class Visitor:
    """A client that works while it is present."""

    def __init__(self, name: str, url: str) -> None:
        """Nothing happens before ``run``."""
        self.name = name
        self._url = url
        self._leaving = asyncio.Event()
        self._present = asyncio.Event()
        self._present.set()

    def leave(self) -> None:
        """Disconnect until ``come_back``."""
        self._present.clear()
        self._leaving.set()

    def come_back(self) -> None:
        """Go on."""
        self._leaving.clear()
        self._present.set()

    async def run(self) -> None:
        """Work until it has finished or is cancelled, with pauses while the client is away."""
        finished = False
        while not finished:
            await self._present.wait()
            client = await connect(self._url, name=self.name, options=OPTIONS)
            try:
                finished = await self._attend(client)
            finally:
                await close(client)

    async def _attend(self, client: Client) -> bool:
        """Work until ``_leaving`` is set; whether the work is finished."""
        raise NotImplementedError


async def close(client: Client) -> None:
    """Close, ignoring errors: the history shows what a broker that is down did not confirm."""
    try:
        await client.close(deadline_s=FAREWELL_S)
    except PenstockError:
        return
