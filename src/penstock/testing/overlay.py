"""Several brokers with links between them, in one test.

async with penstock.testing.overlay({"paris": ["rome"], "rome": []}) as brokers:
    publisher = await brokers["paris"].connect()
    reader = await brokers["rome"].connect()
    brokers.cut("paris", "rome")
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import chain
from types import TracebackType
from typing import Any, Final, Self

from penstock.testing.broker import Broker, broker_config
from penstock.testing.errors import BrokerMisused
from penstock.testing.network import PORT
from penstock.testing.virtual_time import LIMIT_S

LINKED_WITHIN_S: Final = 30.0
"""Far above what brokers need to dial each other."""

LOOK_EVERY_S: Final = 0.01


def overlay(
    links: Mapping[str, Sequence[str]],
    *,
    queues: Mapping[str, Sequence[str]] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    virtual_time: bool = True,
    limit_s: float = LIMIT_S,
) -> Overlay:
    """Brokers by name, each with the neighbours that it is linked to; a link may stand once.

    ``queues`` and ``settings`` are by broker, and otherwise as for ``penstock.testing.broker``.
    """
    names = list(dict.fromkeys(chain(links, *links.values())))
    if not names:
        raise BrokerMisused("an overlay without brokers; write overlay({'paris': ['rome']})")
    for given, what in ((queues or {}, "queues"), (settings or {}, "settings")):
        if unknown := sorted(set(given) - set(names)):
            raise BrokerMisused(
                f"{what}= names {unknown[0]!r}, which is no broker of this overlay (there are: "
                f"{', '.join(names)})"
            )
    # The later one of two dials, so that it finds the other one listening.
    order = {name: number for number, name in enumerate(names)}
    pairs = {
        frozenset((here, there)): (here, there) if order[here] < order[there] else (there, here)
        for here in links
        for there in links[here]
    }
    brokers = {}
    for name in names:
        neighbours: dict[str, dict[str, str]] = {}
        for here, there in pairs.values():
            if name == here:
                neighbours[there] = {}
            elif name == there:
                neighbours[here] = {"address": f"{here}.test:{PORT}"}
        own = {"neighbours": neighbours, **(settings or {}).get(name, {})}
        config = broker_config(name, (queues or {}).get(name, ()), 1, own)
        brokers[name] = Broker(config, seed=seed, virtual_time=virtual_time, limit_s=limit_s)
    return Overlay(brokers, tuple(pairs.values()))


class Overlay(Mapping[str, Broker]):
    """The brokers by name; they run inside of its ``async with`` block."""

    def __init__(self, brokers: Mapping[str, Broker], links: tuple[tuple[str, str], ...]) -> None:
        """Made by ``overlay``."""
        self._brokers = brokers
        self._links = links
        self._entered = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Start all brokers, and wait until every link is up."""
        async with AsyncExitStack() as entering:
            for broker in self._brokers.values():
                await entering.enter_async_context(broker)
            await self.linked()
            self._entered = entering.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop them."""
        await self._entered.__aexit__(kind, error, traceback)

    def __getitem__(self, name: str) -> Broker:
        """One of the brokers."""
        return self._brokers[name]

    def __iter__(self) -> Iterator[str]:
        """Their names."""
        return iter(self._brokers)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._brokers)

    async def linked(self) -> None:
        """Wait until every link is up that is not cut; raises ``TimeoutError``."""
        async with asyncio.timeout(LINKED_WITHIN_S):
            while not all(self._is_up_or_cut(*link) for link in self._links):  # noqa: ASYNC110
                await asyncio.sleep(LOOK_EVERY_S)

    def _is_up_or_cut(self, here: str, there: str) -> bool:
        ends = (self[here].status().links[there], self[there].status().links[here])
        return all(end.up for end in ends) or any(end.cut for end in ends)

    async def advance(self, duration_s: float) -> None:
        """Let this many virtual seconds pass, for all brokers."""
        await next(iter(self._brokers.values())).advance(duration_s)

    def cut(self, here: str, there: str) -> None:
        """Break a link, with everything on it; it stays down until ``mend``."""
        self._control(here, there, cut=True)

    def mend(self, here: str, there: str) -> None:
        """Let the brokers link again."""
        self._control(here, there, cut=False)

    def limit(self, here: str, there: str, bandwidth_bytes_per_s: int) -> None:
        """Limit a link in both directions, and mend it if it is cut; 0 is no limit."""
        self._control(here, there, cut=False, bandwidth_bytes_per_s=bandwidth_bytes_per_s)

    def _control(self, here: str, there: str, *, cut: bool, bandwidth_bytes_per_s: int = 0) -> None:
        if here not in self._brokers or there not in self._brokers:
            known = ", ".join(self._brokers)
            raise BrokerMisused(f"no brokers {here!r} and {there!r} here (there are: {known})")
        for one, other in ((here, there), (there, here)):
            self[one].control_link(other, cut=cut, bandwidth_bytes_per_s=bandwidth_bytes_per_s)
