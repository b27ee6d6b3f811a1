"""What a system must offer to be measured side by side: one small interface for all of them.

1. A *peer* is a server that is started here, on loopback, on a private port and in a private
   directory, and ended with the ``with`` block.  One that is not installed says what brings it.
2. A *variant* is one way to use it, with one class of durability and one client.  Figures are
   compared within a class.
3. Before a run, ``prepare`` makes everything afresh, with a subscription for each name that is
   kept while nobody is connected (where the variant keeps anything); after it, ``clear`` takes it
   away.
4. A *sender* encodes bursts of messages and sends them, with a bounded number under way.  A
   *receiver* gives the payloads that came, and acknowledges them as the peer's own clients do.
   Payloads of one run are all of one size, which raw clients make use of.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from enum import Enum
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from benchmarks.harness.server import Server, find_program

RAW: Final = "raw socket, pre-encoded"


class Durability(Enum):
    """What is true of a message when its producer is told that all is well."""

    SYNCED = "on stable storage"
    WRITTEN = "written, synced later"
    NOTHING = "nothing is kept"


class Sender(Protocol):
    """One producer."""

    def encode(self, payloads: list[bytes]) -> Any:
        """A burst that can be sent as often as one likes."""

    async def send(self, burst: Any, count: int) -> None:
        """Send a burst of so many messages; waits only while too many are unconfirmed."""

    async def settle(self) -> None:
        """Wait until everything was confirmed."""


class Receiver(Protocol):
    """One consumer."""

    async def receive(self) -> list[bytes]:
        """The payloads that came next, at least one; they count as done."""

    async def settle(self) -> None:
        """Wait until the server has read the acknowledgements."""


OpenSender: TypeAlias = Callable[[Server, int], AbstractAsyncContextManager[Sender]]
"""Takes the server and the size of the payloads."""

OpenReceiver: TypeAlias = Callable[[Server, str, int], AbstractAsyncContextManager[Receiver]]
"""Takes the server, the subscription's name and the size of the payloads."""

Arrange: TypeAlias = Callable[[Server, Sequence[str]], Coroutine[Any, Any, None]]
"""Takes the server and the names of the subscriptions."""


class Selecting(msgspec.Struct, frozen=True):
    """How subscribers with a selector each are used: the functions of a variant, told how many.

    All take ``selectors``, their number, beside what those of a variant take.  The sender gives
    message after message the numbers 0, 1, ... in turn, each of which one selector asks for; the
    receiver stands for all of them.
    """

    prepare: Callable[..., Coroutine[Any, Any, None]]
    sender: Callable[..., AbstractAsyncContextManager[Sender]]
    receiver: Callable[..., AbstractAsyncContextManager[Receiver]]
    clear: Callable[..., Coroutine[Any, Any, None]]


class Variant(msgspec.Struct, frozen=True):
    """One way to use a peer; its functions are those of a module, so that processes can have them.

    ``part`` is what part of the messages it is measured with: slow ones get fewer.
    """

    name: str
    durability: Durability
    sender: OpenSender
    receiver: OpenReceiver
    prepare: Arrange
    clear: Arrange
    part: float = 1.0
    client: str = RAW
    module: str = ""
    """The Python module that the client is, if it is not ours."""
    fans_out: bool = True
    """Whether every subscription gets every message."""
    keeps: bool = True
    """Whether a subscription collects while its consumer is away, and goes on where it was."""
    loses: bool = False
    """Whether a message may get lost, so that a sender at full speed cannot count on any number."""
    selecting: Selecting | None = None

    def with_selectors(self, count: int) -> Variant:
        """The same with so many subscribers that have a selector each."""
        assert self.selecting is not None, f"{self.name} has no selectors"
        return msgspec.structs.replace(
            self,
            sender=partial(self.selecting.sender, selectors=count),
            receiver=partial(self.selecting.receiver, selectors=count),
            prepare=partial(self.selecting.prepare, selectors=count),
            clear=partial(self.selecting.clear, selectors=count),
        )

    @property
    def is_installed(self) -> bool:
        """Whether its client is here."""
        return not self.module or find_spec(self.module) is not None


class Peer(msgspec.Struct, frozen=True):
    """A server, how to start it, and its variants."""

    name: str
    program: str
    """What must be there for it to run; empty for ourselves, and for what its start downloads."""
    source: str
    """How the program is had, as a command where there is one."""
    start: Callable[[Path], AbstractContextManager[Server]]
    """In a directory of its own."""
    variants: tuple[Variant, ...]

    @property
    def is_installed(self) -> bool:
        """Whether it can be started here."""
        return not self.program or find_program(self.program) is not None


async def nothing(server: Server, names: Sequence[str]) -> None:
    """For peers that keep nothing."""
