"""Starts, watches, stops and kills brokers that run as separate processes.

Tests, ``penstock up`` and the scenario runner start brokers with this module.  A broker is ready
when it has printed one line of JSON.  It logs to a file; if the broker does not start, the error
quotes the end of that file.
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from penstock.net.broker.serve import Ready

START_TIMEOUT_S: Final = 60.0
"""Long enough for the recovery of a large log on a busy machine; a broker that hangs exceeds it."""

STOP_TIMEOUT_S: Final = 30.0
"""A stopping broker waits 10 s for its disk and 5 s for its peers."""

QUOTED_LOG_BYTES: Final = 2000
"""How much of the log is quoted in an error: the last dozen lines."""

SERVE_COMMAND: Final = (sys.executable, "-m", "penstock.net")


FIRST_PORT: Final = 12_000
PORTS: Final = 20_000
"""The range is below the ports that kernels give to outgoing connections (Linux: from 32,768 on),
any of which another process may take before the broker listens on it.  A port is chosen at random,
so that several programs that look for ports at the same time rarely find the same one."""

PORT_TRIES: Final = 100


class BrokerFailed(RuntimeError):
    """A broker process did not start or did not stop; the message quotes its log."""


def free_port(host: str = "127.0.0.1") -> int:
    """Find a port that is not in use; neighbours must know each other's ports beforehand."""
    for _ in range(PORT_TRIES):
        port = FIRST_PORT + secrets.randbelow(PORTS)
        try:
            with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as datagram:
                stream.bind((host, port))
                datagram.bind((host, port))
        except OSError:
            continue
        return port
    raise OSError(f"none of {PORT_TRIES} ports from {FIRST_PORT} on is free at {host}")


class BrokerProcess:
    """One broker process, running or not; a ``with`` block stops it at its end."""

    def __init__(
        self, config_path: Path, log_path: Path, command: Sequence[str] = SERVE_COMMAND
    ) -> None:
        """``command`` is the command line without its last argument, the configuration's path."""
        self.config_path = config_path
        self.log_path = log_path
        self.ready: Ready | None = None
        self._command = [*command, str(config_path)]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def address(self) -> tuple[str, int]:
        """The host and port at which the broker listens."""
        if self.ready is None:
            raise BrokerFailed(f"{self.config_path}: the broker was never started")
        return self.ready.host, self.ready.port

    def start(self, timeout_s: float = START_TIMEOUT_S) -> Ready:
        """Start the broker and wait until it listens."""
        self.launch()
        return self.wait_ready(timeout_s)

    def launch(self) -> None:
        """Start the broker without waiting, so that several brokers can start in parallel."""
        if self.running:
            raise BrokerFailed(f"{self.config_path}: the broker runs already")
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C at a terminal goes only to the parent process, which stops the broker.
                start_new_session=True,
            )

    def wait_ready(self, timeout_s: float = START_TIMEOUT_S) -> Ready:
        """Wait until a launched broker listens."""
        assert self._process is not None, "launch the broker first"
        line = self._first_line(self._process, timeout_s)
        try:
            self.ready = msgspec.json.decode(line, type=Ready)
        except msgspec.MsgspecError:
            self.kill()
            raise BrokerFailed(
                f"{self.config_path}: the broker did not come up within {timeout_s:g} s:\n"
                f"{self._end_of_log()}"
            ) from None
        return self.ready

    def terminate(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Shut the broker down cleanly (SIGTERM) and wait until it has ended."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise BrokerFailed(
                f"{self.config_path}: the broker did not stop within {timeout_s:g} s and was "
                f"killed:\n{self._end_of_log()}"
            ) from None
        self._forget()
        if status:
            raise BrokerFailed(
                f"{self.config_path}: the broker ended with status {status}:\n{self._end_of_log()}"
            )

    def pause(self) -> None:
        """Take the processor from the broker (SIGSTOP) until ``resume``."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a broker that was paused go on; nothing happens to one that runs or has ended."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the broker immediately, like a crash (``kill -9``)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._forget()

    def restart(self, timeout_s: float = START_TIMEOUT_S) -> Ready:
        """Shut the broker down cleanly and start it again."""
        self.terminate()
        return self.start(timeout_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the broker; kill it if the block failed, so that its error is not hidden."""
        if error is None:
            self.terminate()
        else:
            self.kill()

    def _forget(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None

    @staticmethod
    def _first_line(process: subprocess.Popen[bytes], timeout_s: float) -> bytes:
        """The first line that the broker prints; empty if it ends or takes too long."""
        assert process.stdout is not None
        descriptor = process.stdout.fileno()
        deadline = time.monotonic() + timeout_s
        line = b""
        while not line.endswith(b"\n"):
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not select.select([descriptor], [], [], left_s)[0]:
                return b""
            read = os.read(descriptor, 4096)
            if not read:
                return b""
            line += read
        return line

    def _end_of_log(self) -> str:
        text = self.log_path.read_bytes()[-QUOTED_LOG_BYTES:].decode(errors="replace")
        return text or "(its log is empty)"
