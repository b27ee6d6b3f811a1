"""``penstock gossip``: runs a gossip peer in this terminal, and explains why publications wait."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from stat import S_ISFIFO, S_ISSOCK
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter

from penstock.cli.errors import MISUSED, told_in_one_line
from penstock.cli.messaging.attributes import parse_attributes, shown
from penstock.client.errors import PenstockError
from penstock.client.gossip.endpoint import parse_address
from penstock.client.gossip.gossip import DEFAULT_BUFFER_EVENTS, GossipGroup, GossipPeer
from penstock.client.publishing.row import Attributes
from penstock.lab.telemetry.telemetry import TelemetryDirectory
from penstock.services.gossip.messages import Event
from penstock.services.gossip.parameters import GossipParameters


def gossip(
    *,
    listen: str = "127.0.0.1:0",
    peer: tuple[str, ...] = (),
    group: str = "default",
    advertise: str | None = None,
    buffer: int = DEFAULT_BUFFER_EVENTS,
    period: float = 5.0,
    fanout: int = 4,
    law: Literal["improved", "paper", "none"] = "improved",
    datagram_bytes: int = 1400,
    attr: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    count: int | None = None,
    deadline: float | None = None,
    telemetry: Path | None = None,
    json: bool = False,
) -> None:
    """Join a gossip group as a peer: publish the lines of standard input, print received events.

    Parameters
    ----------
    listen
        Address to listen on, host:port with a numeric host; port 0 takes any free port.
    peer
        A member of the group, host:port; may be given several times.
    group
        The group to join.
    advertise
        The address at which other peers reach this one, if it differs from --listen.
    buffer
        Events that this peer buffers for forwarding; the group adapts to the smallest buffer.
    period
        Seconds between two rounds of gossip; the same at every peer.
    fanout
        Members that each round's gossip is sent to; the same at every peer.
    law
        How senders adapt their rate; the same at every peer.
    datagram_bytes
        Largest datagram that is sent.
    attr
        An attribute of every published event: name=text or name:type=value.
    count
        Stop after this many received events.
    deadline
        Stop after this many seconds.
    telemetry
        Directory for this peer's telemetry (Parquet).
    json
        Print each event as one line of JSON.
    """
    parameters = GossipParameters(
        group=group, law=law, fanout=fanout, buffer_events=buffer, datagram_bytes=datagram_bytes
    ).with_period(period)
    with told_in_one_line(ValueError, status=MISUSED):
        parameters.checked()
        for address in (listen, *peer):
            parse_address(address)
    attributes = parse_attributes(attr)
    with told_in_one_line(PenstockError, OSError, ValueError), ExitStack() as stack:
        stack.enter_context(suppress(TimeoutError))
        sink = None
        if telemetry is not None:
            sink = stack.enter_context(TelemetryDirectory(telemetry, f"gossip-{os.getpid()}"))
        here = GossipPeer(
            listen,
            peers=peer,
            advertise=advertise,
            buffer_events=buffer,
            on_trace=None if sink is None else sink.add_all,
        )
        life = _be_a_peer(here, parameters, attributes, count, as_json=json)
        asyncio.run(asyncio.wait_for(life, deadline))


async def _be_a_peer(
    peer: GossipPeer,
    parameters: GossipParameters,
    attributes: Attributes,
    count: int | None,
    *,
    as_json: bool,
) -> None:
    async with peer:
        joined = await peer.join(parameters.group, parameters=parameters)
        print(f"peer {peer.address} in group {joined.name!r}", file=sys.stderr, flush=True)
        publishing = asyncio.create_task(_publish_lines(joined, attributes))
        printing = asyncio.create_task(_print_events(joined, count, as_json=as_json))
        try:
            # At the end of standard input publishing ends; the peer continues to forward.
            done, _ = await asyncio.wait(
                (publishing, printing), return_when=asyncio.FIRST_EXCEPTION
            )
            for task in done:
                task.result()
        finally:
            publishing.cancel()
            printing.cancel()
            await asyncio.gather(publishing, printing, return_exceptions=True)


async def _publish_lines(group: GossipGroup, attributes: Attributes) -> None:
    mode = os.fstat(sys.stdin.fileno()).st_mode
    if not (S_ISFIFO(mode) or S_ISSOCK(mode) or sys.stdin.isatty()):
        # A regular file or /dev/null is always readable, and cannot be registered with the loop.
        for line in sys.stdin.buffer:
            await group.publish(attributes, line.rstrip(b"\r\n"))
        return
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    try:
        while line := await reader.readline():
            await group.publish(attributes, line.rstrip(b"\r\n"))
    finally:
        transport.close()


async def _print_events(group: GossipGroup, count: int | None, *, as_json: bool) -> None:
    printed = 0
    async for event in group:
        print(_event_text(event, as_json=as_json), flush=True)
        printed += 1
        if count is not None and printed >= count:
            raise _EnoughError


class _EnoughError(TimeoutError):
    """The requested number of events has arrived."""


def _event_text(event: Event, *, as_json: bool) -> str:
    if not as_json:
        return event.payload.decode(errors="replace")
    document = {
        "id": event.id.hex(),
        "payload": event.payload.decode(errors="replace"),
        "attributes": {name: shown(value) for name, value in event.attributes.items()},
    }
    return msgspec.json.encode(document).decode()
