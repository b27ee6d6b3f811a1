"""ActiveMQ Artemis, over STOMP: a multicast address with durable subscriptions, journal synced."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.harness.server import Server, ServerFailed, find_program, served
from benchmarks.peers import stomp
from penstock.net.process import free_port

CREATE_TIMEOUT_S: Final = 120.0

DIALECT: Final = stomp.Dialect(
    topic="bench",
    selected="selected",
    durable_header="durable-subscription-name",
    unsubscribe_header="durable-subscription-name",
    further=(("subscription-type", "MULTICAST"), ("consumer-window-size", "-1")),
    sending=(("destination-type", "MULTICAST"),),
)


@contextmanager
def start(directory: Path) -> Iterator[Server]:
    """An instance of its own, of whose acceptors only one is left, on loopback."""
    instance = directory / "instance"
    program = find_program("artemis")
    assert program is not None, "asked only if it is installed"
    command = [
        program, "create", str(instance), "--user", "guest", "--password", "guest",
        "--allow-anonymous", "--no-web", "--no-autotune", "--nio", "--silent",
    ]  # fmt: skip
    made = subprocess.run(command, capture_output=True, text=True, timeout=CREATE_TIMEOUT_S)
    if made.returncode:
        raise ServerFailed(f"artemis create failed: {' '.join(made.stderr.split())[-600:]}")
    port = free_port()
    configuration = instance / "etc" / "broker.xml"
    acceptor = (
        f'<acceptors><acceptor name="stomp">tcp://127.0.0.1:{port}?protocols=STOMP</acceptor>'
        "</acceptors>"
    )
    text = re.sub(
        r"<acceptors>.*</acceptors>", acceptor, configuration.read_text(), flags=re.DOTALL
    )
    configuration.write_text(text)
    with served([str(instance / "bin" / "artemis"), "run"], directory, port) as process:
        yield Server(port, process.pid)


ADDRESS: Final = stomp.variant("Artemis address", DIALECT, 0.1)
