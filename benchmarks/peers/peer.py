"""The interface that a system implements to be measured side by side.

1. A *peer* is a server that is started here, on loopback, on a private port and in a private
   directory, and stopped with the ``with`` block.  One that is not installed names its package.
2. A *variant* is one way to use it, with one class of durability and one client.  Figures are
   compared within a class.
3. Before a run, ``prepare`` creates everything, with a subscription for each name that is kept
   while no client is connected (if the variant stores messages); after it, ``clear`` deletes it.
4. A *sender* encodes bursts of messages and sends them, with a bounded number in flight.  A
   *receiver* returns the payloads that arrived, and acknowledges them as the peer's own clients do.
   All payloads of one run have one size, which raw clients rely on.
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
    """What holds for a message when its producer gets the confirmation."""

    SYNCED = "on stable storage"
    WRITTEN = "written, synced later"
    NOTHING = "nothing is kept"


class Sender(Protocol):
    """One producer."""

    def encode(self, payloads: list[bytes]) -> Any:
        """A burst that can be sent repeatedly."""

    async def send(self, burst: Any, count: int) -> None:
        """Send a burst of ``count`` messages; waits only while too many are unconfirmed."""

    async def settle(self) -> None:
        """Wait until everything is confirmed."""


class Receiver(Protocol):
    """One consumer."""

    async def receive(self) -> list[bytes]:
        """The next payloads, at least one; they count as processed."""

    async def settle(self) -> None:
        """Wait until the server has read the acknowledgements."""


OpenSender: TypeAlias = Callable[[Server, int], AbstractAsyncContextManager[Sender]]
"""Takes the server and the size of the payloads."""

OpenReceiver: TypeAlias = Callable[[Server, str, int], AbstractAsyncContextManager[Receiver]]
"""Takes the server, the subscription's name and the size of the payloads."""

Arrange: TypeAlias = Callable[[Server, Sequence[str]], Coroutine[Any, Any, None]]
"""Takes the server and the names of the subscriptions."""


class Selecting(msgspec.Struct, frozen=True):
    """Subscribers with one selector each: the functions of a variant for a given number of them.

    All take ``selectors``, the number, in addition to the arguments of a variant's functions.  The
    sender gives messages the numbers 0, 1, ... in turn, each of which matches one selector; the
    receiver receives for all of them.
    """

    prepare: Callable[..., Coroutine[Any, Any, None]]
    sender: Callable[..., AbstractAsyncContextManager[Sender]]
    receiver: Callable[..., AbstractAsyncContextManager[Receiver]]
    clear: Callable[..., Coroutine[Any, Any, None]]


class Variant(msgspec.Struct, frozen=True):
    """One way to use a peer; its functions belong to a module, so that processes can import them.

    ``part`` is the fraction of the messages that it is measured with: slow ones get fewer.
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
    """The Python module of the client, if it is not ours."""
    fans_out: bool = True
    """Whether every subscription gets every message."""
    keeps: bool = True
    """Whether a subscription collects while its consumer is away, and continues where it was."""
    loses: bool = False
    """Whether messages may be lost, so that a sender at full speed cannot expect any number."""
    selecting: Selecting | None = None

    def with_selectors(self, count: int) -> Variant:
        """This variant with that many subscribers with one selector each."""
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
        """Whether its client is installed."""
        return not self.module or find_spec(self.module) is not None


class Peer(msgspec.Struct, frozen=True):
    """A server, how to start it, and its variants."""

    name: str
    program: str
    """The program that it needs; empty for ourselves, and for servers that are downloaded."""
    source: str
    """How to install the program, as a command if there is one."""
    start: Callable[[Path], AbstractContextManager[Server]]
    """Starts it in a directory of its own."""
    variants: tuple[Variant, ...]

    @property
    def is_installed(self) -> bool:
        """Whether it can be started here."""
        return not self.program or find_program(self.program) is not None


async def nothing(server: Server, names: Sequence[str]) -> None:
    """For peers without storage."""
