"""Servers of the peers as processes: on loopback, on private ports, in private directories.

A server is stopped at the end of its ``with`` block, together with its children; its output is
quoted if it does not start.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

START_TIMEOUT_S: Final = 120.0
"""RabbitMQ takes half a minute on a busy machine."""

STOP_TIMEOUT_S: Final = 30.0
"""Longer than any of them takes to write its data; then it is killed."""

QUOTED_LOG_CHARACTERS: Final = 600
"""The last few lines show why a server did not start."""


class Server(msgspec.Struct, frozen=True):
    """A listening server: its address and its process."""

    port: int
    process: int
    other_port: int = 0
    """The port of a second protocol, if it has one."""


class ServerFailed(RuntimeError):
    """A server did not start; the message quotes its output."""


def search_path() -> str:
    """The ``PATH`` with the directories of servers, which an ordinary user's does not contain.

    RabbitMQ's own directory comes first: the program of the same name in /usr/sbin switches to
    another user, who cannot write to our directories.
    """
    return os.pathsep.join(["/usr/lib/rabbitmq/bin", os.environ.get("PATH", ""), "/usr/sbin"])


def find_program(name: str) -> str | None:
    """The path of a program, or None."""
    return shutil.which(name, path=search_path())


@contextmanager
def served(
    command: Sequence[str],
    directory: Path,
    port: int,
    environment: dict[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server process and its children until the end of the block."""
    log = directory / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [find_program(command[0]) or command[0], *command[1:]],
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=directory,
            start_new_session=True,
        )
    try:
        _wait_until_it_listens(process, command[0], port, log)
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_TIMEOUT_S)
        # Its children too, including those that outlived it.
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _wait_until_it_listens(
    process: subprocess.Popen[bytes], name: str, port: int, log: Path
) -> None:
    until = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise ServerFailed(f"{name} ended at once: {_end_of(log)}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise ServerFailed(f"{name} does not listen after {START_TIMEOUT_S:g} s: {_end_of(log)}")


def _end_of(log: Path) -> str:
    text = " ".join(log.read_text(errors="replace").split())
    return text[-QUOTED_LOG_CHARACTERS:] or "it printed nothing"
