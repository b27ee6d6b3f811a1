"""``penstock gossip``: this terminal becomes a peer; and why its publications wait."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from stat import S_ISREG
from typing import Annotated, Final, Literal

import msgspec
from cyclopts import Parameter

from penstock.cli.attributes import parse_attributes, shown
from penstock.cli.errors import MISUSED, told_in_one_line
from penstock.client.errors import PenstockError
from penstock.client.gossip import DEFAULT_BUFFER_EVENTS, GossipGroup, GossipPeer, ask_why
from penstock.core.clock import in_seconds, seconds
from penstock.gossip.messages import Event, Why
from penstock.gossip.parameters import AdaptationParameters, GossipParameters
from penstock.net.datagrams import parse_address

SHORTEST_PERIOD_S: Final = 0.001
"""Nothing is divided by a period that the parameters refuse anyway."""


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
    json: bool = False,
) -> None:
    """Be a peer of a gossip group: publish the lines of standard input, print what arrives.

    Parameters
    ----------
    listen
        Where to listen, host:port with a numeric host; port 0 takes any.
    peer
        A member of the group, host:port; may be given several times.
    group
        Which group to join.
    advertise
        The address by which others reach this peer, if it is not the one it listens on.
    buffer
        How many events this peer keeps to pass them on; the group adapts to the poorest.
    period
        Seconds between two rounds of gossip; the same at every peer.
    fanout
        How many members each round's gossip goes to; the same at every peer.
    law
        How senders adapt their rate; the same at every peer.
    datagram_bytes
        No datagram is larger.
    attr
        An attribute of every published event: name=text or name:type=value.
    count
        Stop after so many received events.
    deadline
        Stop after so many seconds.
    json
        Print events as JSON, one in a line.
    """
    chosen: dict[str, object] = {
        "group": group,
        "law": law,
        "gossip_period_ns": seconds(period),
        "fanout": fanout,
        "buffer_events": buffer,
        "datagram_bytes": datagram_bytes,
        "adaptation": _rates(period),
    }
    with told_in_one_line(ValueError, msgspec.ValidationError, status=MISUSED):
        parameters = msgspec.convert(chosen, GossipParameters)
        for address in (listen, *peer):
            parse_address(address)
    attributes = parse_attributes(attr)
    here = GossipPeer(listen, peers=peer, advertise=advertise, buffer_events=buffer)
    life = _be_a_peer(here, parameters, attributes, count, as_json=json)
    with told_in_one_line(PenstockError, OSError, ValueError), suppress(TimeoutError):
        asyncio.run(asyncio.wait_for(life, deadline))


def _rates(period_s: float) -> dict[str, float]:
    """The paper's first and lowest rates are those of rounds of 5 s; a round carries as much."""
    defaults = AdaptationParameters()
    faster = in_seconds(GossipParameters().gossip_period_ns) / max(period_s, SHORTEST_PERIOD_S)
    return {
        "initial_rate_msgs_per_s": faster * defaults.initial_rate_msgs_per_s,
        "lowest_rate_msgs_per_s": faster * defaults.lowest_rate_msgs_per_s,
    }


async def _be_a_peer(
    peer: GossipPeer,
    parameters: GossipParameters,
    attributes: dict[str, str | int | float | bool | bytes],
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
            # The end of standard input ends the publishing; the peer goes on passing on.
            done, _ = await asyncio.wait(
                (publishing, printing), return_when=asyncio.FIRST_EXCEPTION
            )
            for task in done:
                task.result()
        finally:
            publishing.cancel()
            printing.cancel()
            await asyncio.gather(publishing, printing, return_exceptions=True)


async def _publish_lines(
    group: GossipGroup, attributes: dict[str, str | int | float | bool | bytes]
) -> None:
    if S_ISREG(os.fstat(sys.stdin.fileno()).st_mode):
        # A file can be read at any time, and not be waited for.
        for line in sys.stdin.buffer:
            await group.publish(line.rstrip(b"\r\n"), attributes)
        return
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    try:
        while line := await reader.readline():
            await group.publish(line.rstrip(b"\r\n"), attributes)
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
    """As many events came as were asked for."""


def _event_text(event: Event, *, as_json: bool) -> str:
    if not as_json:
        return event.payload.decode(errors="replace")
    document = {
        "id": event.id.hex(),
        "payload": event.payload.decode(errors="replace"),
        "attributes": {name: shown(value) for name, value in event.attributes.items()},
    }
    return msgspec.json.encode(document).decode()


def why(peer: str, /, *, group: str = "default", deadline: float = 2.0, json: bool = False) -> None:
    """Say what holds a gossip sender on this machine back.

    Parameters
    ----------
    peer
        Its address, host:port.
    group
        Which of its groups.
    deadline
        Seconds to wait for the answer.
    json
        Print it as JSON.
    """
    with told_in_one_line(PenstockError, OSError, ValueError):
        answer = asyncio.run(ask_why(peer, group, deadline_s=deadline))
    print(msgspec.json.encode(_document(answer)).decode() if json else why_text(answer))


def _document(answer: Why) -> dict[str, object]:
    return {name: getattr(answer, name) for name in answer.__struct_fields__ if name != "token"}


def why_text(answer: Why) -> str:
    """The answer for people."""
    lines = [
        f"{answer.peer} in group {answer.group!r}: may publish "
        f"{answer.allowed_rate_msgs_per_s:.3g} msg/s and publishes "
        f"{answer.published_rate_msgs_per_s:.3g}; {answer.waiting} publications wait",
        f"  cause:    {answer.cause}",
        f"  buffers:  the poorest has {answer.minimum_buffer} events, this one {answer.own_buffer}",
        f"  age:      {answer.average_age:.2f} at the drops of the poorest; marks "
        f"{answer.low_age_mark:.1f} and {answer.high_age_mark:.1f}",
        f"  tokens:   {answer.average_tokens:.1f} of {answer.bucket_tokens} on average",
        f"  copies:   {answer.copies_for_each_event:.2f} for each event, "
        f"{answer.copies_target:.2f} wanted",
        f"  receipt:  {answer.receipt:.1%} of the events reach a peer",
        f"  group:    about {answer.group_size:.0f} peers, {answer.members_known} known here",
    ]
    return "\n".join(lines)
