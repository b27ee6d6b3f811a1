"""What a system must offer to be measured side by side: one small interface for all of them.

1. A *peer* is a server that is started here, on loopback, on a private port and in a private
   directory, and ended with the ``with`` block.  One that is not installed says which Debian
   package brings it.
2. A *variant* is one way to use it, with one class of durability.  Figures are compared within a
   class.
3. Its clients run in processes of their own.  ``consume`` calls ``ready`` when it is subscribed and
   returns when the last message was acknowledged; ``produce`` returns when it sent the first one,
   after everything was confirmed.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

START_TIMEOUT_S = 120.0
"""RabbitMQ takes half a minute on a busy machine."""


class Durability(Enum):
    """What is true of a message when its producer is told that all is well."""

    SYNCED = "on stable storage"
    WRITTEN = "written, synced later"
    NOTHING = "nothing is kept"


class Variant(msgspec.Struct, frozen=True):
    """One way to use a peer; the functions are those of a module, so that processes can have them.

    ``part`` is what part of the messages it is measured with: slow ones get fewer.
    """

    name: str
    durability: Durability
    produce: Callable[[int, int, bytes], float]
    consume: Callable[[int, int, int, Callable[[], None]], float]
    prepare: Callable[[int], None] | None = None
    part: float = 1.0
    client: str = "raw socket, pre-encoded"


class Peer(msgspec.Struct, frozen=True):
    """A server, how to start it, and its variants."""

    name: str
    program: str
    """What must be there for it to run; empty for ourselves."""
    package: str
    start: Callable[[Path], AbstractContextManager[int]]
    """In a directory of its own; gives the port."""
    variants: tuple[Variant, ...]

    @property
    def is_installed(self) -> bool:
        """Whether it can be started here."""
        return not self.program or shutil.which(self.program, path=search_path()) is not None


def search_path() -> str:
    """Servers are where an ordinary user does not look for programs.

    RabbitMQ's own directory comes first: the program of the same name in /usr/sbin becomes another
    user, who may not write to our directories.
    """
    return os.pathsep.join(["/usr/lib/rabbitmq/bin", os.environ.get("PATH", ""), "/usr/sbin"])


def free_port() -> int:
    """A port that nobody listens on at present."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def server(
    command: Sequence[str],
    directory: Path,
    port: int,
    environment: dict[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """A server process, and its children, until the end of the block."""
    program = shutil.which(command[0], path=search_path()) or command[0]
    log = directory / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, *command[1:]],
            env={**os.environ, **(environment or {})},
            stdout=output,
            stderr=output,
            cwd=directory,
            start_new_session=True,
        )
    try:
        _wait_until_it_listens(process, port, log)
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended at once: {log.read_text()[-2000:]}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"{process.args!r} does not listen after {START_TIMEOUT_S:g} s; see {log}")


class Wire:
    """A blocking socket with a buffer, for clients that count bytes."""

    def __init__(self, port: int) -> None:
        """Connect to a server on this machine."""
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""

    def send(self, data: Any) -> None:
        """All of it."""
        self.socket.sendall(data)

    def some(self) -> bytes:
        """Whatever comes next."""
        if self._rest:
            data, self._rest = self._rest, b""
            return data
        data = self.socket.recv(1 << 20)
        if not data:
            raise ConnectionError("the server closed the connection")
        return data

    def until(self, end: bytes) -> bytes:
        """Everything up to and including these bytes."""
        data = b""
        while end not in data:
            data += self.some()
        found, _, self._rest = data.partition(end)
        return found + end

    def exactly(self, count: int) -> bytes:
        """So many bytes."""
        data = self.some()
        while len(data) < count:
            data += self.some()
        self._rest = data[count:] + self._rest
        return data[:count]
