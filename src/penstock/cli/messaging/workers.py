"""``penstock workers``: runs as many processes of a command as a queue needs."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Annotated, Final, NamedTuple

from cyclopts import Parameter

from penstock.cli.errors import MISUSED, UserError, told_in_one_line
from penstock.client.client import Client, connect
from penstock.client.errors import PenstockError
from penstock.client.queues.worker_load import destination_of, load_of
from penstock.client.queues.workers import Workers
from penstock.services.queues.laws.workers import WorkerBounds

STOP_S: Final = 30.0
"""How long a process may take to end after SIGTERM; then it is killed."""


class CommandWorker:
    """One process of the command, with the processes that it starts itself."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    def is_running(self) -> bool:
        return self._process.returncode is None

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL if that does not end it."""
        self._signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._process.wait(), STOP_S)
        except TimeoutError:
            self._signal(signal.SIGKILL)
            await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self.is_running():
            try:
                os.killpg(self._process.pid, number)
            except ProcessLookupError:
                return


def workers(
    queue: str,
    *,
    command: str,
    alias: str = "",
    min: int = 1,
    max: int = 8,
    drain_s: float = 10.0,
    start_s: float = 5.0,
    quiet_s: float = 30.0,
    url: Annotated[
        str | None, Parameter(help="The broker, penstock://host:port (default: PENSTOCK_URL).")
    ] = None,
    alias_url: Annotated[
        str | None, Parameter(help="The alias queue's broker, if it is another one.")
    ] = None,
) -> None:
    """Run as many processes of a command as a queue needs, until interrupted.

    A process gets the queue's name as PENSTOCK_QUEUE and the broker as PENSTOCK_URL. It is
    stopped with SIGTERM; what it has not acknowledged goes to another one.

    Parameters
    ----------
    queue
        A queue of the broker.
    command
        What a worker runs, in the shell.
    alias
        An alias queue that forwards to the queue: follow what waits behind it.
    min
        The number of workers that always run.
    max
        The largest number of workers.
    drain_s
        The time in which a backlog should be worked off.
    start_s
        How long a new worker takes to begin.
    quiet_s
        How long fewer workers must have been enough before any is stopped.
    """
    try:
        bounds = WorkerBounds(min, max, drain_s, start_s, quiet_s)
        if min < 0 or max < 1 or min > max:
            raise ValueError(f"--min {min} --max {max}: use 0 <= min <= max, and max of at least 1")
        if drain_s <= 0 or start_s <= 0 or quiet_s <= 0:
            raise ValueError("--drain-s, --start-s and --quiet-s must be above 0")
        if alias_url is not None and not alias:
            raise ValueError("--alias-url says where an alias queue is: name it with --alias")
    except ValueError as error:
        raise UserError(str(error), MISUSED) from None
    with told_in_one_line(PenstockError, ValueError):
        asyncio.run(_follow(Followed(queue, alias), command, bounds, url, alias_url or url))


class Followed(NamedTuple):
    """The queue of the workers, and the alias queue before it, if its load is followed."""

    queue: str
    alias: str

    @property
    def received_from(self) -> str:
        """The name of the queue at the workers' broker."""
        return self.queue.rpartition("@")[0] or self.queue if self.alias else self.queue


async def _follow(
    followed: Followed, command: str, bounds: WorkerBounds, url: str | None, load_url: str | None
) -> None:
    environment = {**os.environ, "PENSTOCK_QUEUE": followed.received_from}
    if url is not None:
        environment["PENSTOCK_URL"] = url

    async def start() -> CommandWorker:
        # A group of its own, so that a signal reaches what the shell has started.
        process = await asyncio.create_subprocess_shell(
            command, env=environment, start_new_session=True
        )
        return CommandWorker(process)

    async with connect(url) as client:
        queue = await _checked(client, followed)
    async with connect(load_url) as client:
        if followed.alias:
            (status,) = await client.queues.status(followed.alias)
            destination_of(status, queue)
        workers = Workers(client.queues, queue, start, bounds, alias=followed.alias, say=_say)
        following = asyncio.ensure_future(workers.run())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, following.cancel)
        try:
            await following
        except asyncio.CancelledError:
            if not following.cancelled():
                following.cancel()
                await asyncio.wait([following])
                raise


async def _checked(client: Client, followed: Followed) -> str:
    """The queue as ``Workers`` is to know it; raises an error if no worker could receive from it.

    Behind an alias queue that is its address, with the name of the workers' broker.
    """
    name = followed.received_from
    (status,) = await client.queues.status(name)
    load_of(status)
    if not followed.alias:
        return name
    broker = (await client.status())["name"]
    if followed.queue not in (name, f"{name}@{broker}"):
        raise ValueError(
            f"{followed.queue!r} is not at the broker {broker!r}, where the workers would receive: "
            "--url is the broker of the queue, and --alias-url that of the alias queue"
        )
    return f"{name}@{broker}"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
