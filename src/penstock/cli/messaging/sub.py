"""``penstock sub``: prints messages as they arrive."""

from __future__ import annotations

import asyncio
import base64
import math
from datetime import UTC, datetime
from typing import Literal

import msgspec

from penstock.cli.errors import MISUSED, UserError, told_in_one_line
from penstock.cli.messaging.attributes import shown
from penstock.client.client import connect
from penstock.client.errors import PenstockError
from penstock.client.guaranteed.message import Message


def sub(
    selector: str = "",
    /,
    *,
    pubend: tuple[str, ...] = (),
    durable: str | None = None,
    start: str = "now",
    count: int | None = None,
    for_: float = math.inf,
    service: Literal["guaranteed", "datagram"] = "guaranteed",
    url: str | None = None,
    deadline: float = 30.0,
    json: bool = False,
) -> None:
    """Print the messages that match a selector, as they arrive.

    Parameters
    ----------
    selector
        For instance "symbol = 'ACME' AND price > 100" (default: every message).
    pubend
        Only this stream, or streams that match a pattern with *; may be given several times.
        Brokers' own telemetry is printed only if it is named: 'telemetry@*'.
    durable
        The name of a subscription that the broker keeps: it continues where it stopped.
    start
        now, earliest, or a time such as 2026-11-15T12:00:00.
    count
        Stop after this many messages.
    for_
        Stop after this many seconds.
    service
        guaranteed delivers every message once and in order; datagram is best effort, low delay.
    url
        The broker, penstock://host:port (default: PENSTOCK_URL).
    deadline
        Seconds to wait for the broker.
    json
        Print each message as one line of JSON.
    """
    if count is not None and count < 1:
        raise UserError(f"--count {count}: must be at least 1", MISUSED)
    wish = _start(start)
    with told_in_one_line(PenstockError, ValueError):
        if service == "datagram":
            from penstock.cli.messaging.datagram import json_line, print_messages, text

            show = json_line(_body) if json else text
            most = math.inf if count is None else count
            asyncio.run(print_messages(selector, most, for_, url, deadline, show))
        else:
            asyncio.run(_print(selector, pubend, durable, wish, count, for_, url, deadline, json))


def _start(text: str) -> str | datetime:
    if text in ("now", "earliest"):
        return text
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        problem = f"--start {text!r}: write now, earliest, or a time as 2026-11-15T12:00:00"
        raise UserError(problem, MISUSED) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


async def _print(
    selector: str,
    pubends: tuple[str, ...],
    durable: str | None,
    start: str | datetime,
    count: int | None,
    for_s: float,
    url: str | None,
    deadline: float,
    json: bool,
) -> None:
    left = math.inf if count is None else count
    async with (
        connect(url, deadline_s=deadline) as client,
        client.subscribe(
            selector, pubends=pubends, durable=durable, start=start, ack="explicit"
        ) as subscription,
    ):
        try:
            async with asyncio.timeout(None if math.isinf(for_s) else for_s):
                async for message in subscription:
                    print(_json(message) if json else _text(message), flush=True)
                    # A printed message is processed: acknowledge the last one too.
                    message.ack()
                    left -= 1
                    if left <= 0:
                        break
        except TimeoutError:
            return


def _text(message: Message) -> str:
    attributes = " ".join(f"{name}={value!r}" for name, value in message.attributes.items())
    body = message.payload.decode(errors="replace")
    return f"{message.time:%H:%M:%S.%f} {message.pubend} {attributes} | {body}"


def _json(message: Message) -> str:
    document = {
        "pubend": message.pubend,
        "tick": message.tick,
        "time": message.time.isoformat(),
        "attributes": {name: shown(value) for name, value in message.attributes.items()},
        **_body(message.payload),
    }
    return msgspec.json.encode(document).decode()


def _body(payload: bytes) -> dict[str, str]:
    try:
        return {"payload": payload.decode()}
    except UnicodeDecodeError:
        return {"payload_base64": base64.b64encode(payload).decode()}
