"""``penstock pub``: publish one message, or one for each line of standard input."""

from __future__ import annotations

import asyncio
import base64
import binascii
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
from cyclopts import Parameter

from penstock.cli.errors import MISUSED, UserError, told_in_one_line
from penstock.cli.messaging.attributes import parse_attributes
from penstock.client.client import connect
from penstock.client.errors import PenstockError
from penstock.content.rows.columns import AttributeValue, InvalidAttribute

LINES_AT_ONCE = 512
"""Lines that are published as one batch; their receipts are awaited together."""


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    attributes: dict[str, str | int | float | bool] = {}
    payload: str = ""
    payload_base64: str = ""


def pub(
    payload: str | None = None,
    /,
    *,
    attr: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    pubend: str = "",
    service: Literal["guaranteed", "datagram"] = "guaranteed",
    name: str | None = None,
    url: str | None = None,
    deadline: float = 30.0,
    json: bool = False,
) -> None:
    """Publish a message and wait until it is durable.

    Without a payload, reads standard input: one JSON object per line, with "attributes" and
    "payload" (text) or "payload_base64".

    Parameters
    ----------
    payload
        The message's payload, as text.
    attr
        An attribute: name=text, or name:type=value with int, float, bool, str or bytes (base64).
    pubend
        The stream to publish to (default: the broker chooses).
    service
        guaranteed waits until the message is durable; datagram sends it once, best effort.
    name
        With --service datagram: the publisher's name, for penstock why.
    url
        The broker, penstock://host:port (default: PENSTOCK_URL).
    deadline
        Seconds to wait for the broker.
    json
        Print one line of JSON for each receipt.
    """
    attributes = parse_attributes(attr)
    with told_in_one_line(PenstockError, InvalidAttribute, ValueError):
        if service == "datagram":
            from penstock.cli.messaging.datagram import publish

            asyncio.run(publish(_rows(payload, attributes), name, url, deadline))
        else:
            asyncio.run(_publish(payload, attributes, pubend, url, deadline, json))


async def _publish(
    payload: str | None,
    attributes: dict[str, AttributeValue],
    pubend: str,
    url: str | None,
    deadline: float,
    json: bool,
) -> None:
    rows = _rows(payload, attributes)
    async with (
        connect(url, deadline_s=deadline) as client,
        client.publisher(pubend=pubend) as publisher,
    ):
        while chunk := list(islice(rows, LINES_AT_ONCE)):
            publications = [await publisher.send(given, body) for given, body in chunk]
            for publication in publications:
                receipt = await publication
                if json:
                    print(msgspec.json.encode(receipt).decode())


def _rows(
    payload: str | None, attributes: dict[str, AttributeValue]
) -> Iterator[tuple[dict[str, Any], bytes]]:
    if payload is not None:
        return iter([(attributes, payload.encode())])
    return (({**attributes, **given}, body) for given, body in _lines())


def _lines() -> Iterator[tuple[dict[str, Any], bytes]]:
    for number, text in enumerate(sys.stdin, 1):
        if not text.strip():
            continue
        try:
            line = msgspec.json.decode(text, type=_Line)
            body = (
                base64.b64decode(line.payload_base64, validate=True)
                if line.payload_base64
                else line.payload.encode()
            )
        except (msgspec.MsgspecError, binascii.Error) as error:
            raise UserError(f"standard input, line {number}: {error}", MISUSED) from None
        yield line.attributes, body
