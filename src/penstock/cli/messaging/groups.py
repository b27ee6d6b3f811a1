"""``penstock join``, and the half of ``penstock send`` that sends to groups."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from penstock.cli.errors import told_in_one_line
from penstock.cli.messaging.attributes import shown
from penstock.client.client import connect
from penstock.client.errors import DeadlineExceeded, InvalidAttribute, PenstockError
from penstock.client.groups.group import Group
from penstock.client.groups.message import GroupMessage
from penstock.content.rows.columns import AttributeValue


def _run(work: Coroutine[Any, Any, None]) -> None:
    with told_in_one_line(PenstockError, InvalidAttribute, ValueError):
        asyncio.run(work)


def join(
    *group: str,
    name: str | None = None,
    inbox: bool = False,
    count: int = 0,
    wait_s: float | None = None,
    views: bool = True,
    url: Annotated[
        str | None, Parameter(help="The broker, penstock://host:port (default: PENSTOCK_URL).")
    ] = None,
    json: Annotated[bool, Parameter(help="Print one line of JSON for each item.")] = False,
) -> None:
    """Join groups; print their members and their messages until interrupted.

    Parameters
    ----------
    group
        The groups; a group that does not exist is created.
    name
        This member's name (default: generated).
    inbox
        Also print messages sent to this client alone (penstock send --group @NAME).
    count
        Stop after this many messages; 0 means no limit.
    wait_s
        Stop when no message has arrived for this many seconds.
    views
        Whether to print changes of the membership.
    """
    if not group and not inbox:
        with told_in_one_line(ValueError):
            raise ValueError("name at least one group to join, or use --inbox")
    _run(_join(group, name, inbox, count, wait_s, views, url, json))


async def _join(
    names: tuple[str, ...],
    name: str | None,
    inbox: bool,
    count: int,
    wait_s: float | None,
    views: bool,
    url: str | None,
    json: bool,
) -> None:
    async with connect(url, name=name) as client:
        groups = [client.group(each) for each in dict.fromkeys(names)]
        if inbox:
            groups.append(client.groups.inbox())
        for group in groups:
            await group.join()
        printer = _Printer(count, json)
        tasks = [asyncio.create_task(printer.messages(group, wait_s)) for group in groups]
        watching = [asyncio.create_task(printer.views(group)) for group in groups if views]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in [*tasks, *watching]:
                task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, PenstockError) and (count or not _is_late(error)):
                raise error
        for group in groups:
            await group.leave()


def _is_late(error: PenstockError) -> bool:
    """Whether the ``--wait-s`` limit has passed, which ends the command without an error."""
    return isinstance(error, DeadlineExceeded)


class _Printer:
    """Prints messages and membership views of several groups."""

    def __init__(self, count: int, json: bool) -> None:
        self._left = count
        self._json = json

    async def messages(self, group: Group, wait_s: float | None) -> None:
        """Print a group's messages until the limit is reached."""
        waiting = {} if wait_s is None else {"deadline_s": wait_s}
        async for message in group.messages(**waiting):
            self._show(message, group.name)
            self._left -= 1
            if self._left == 0:
                return

    async def views(self, group: Group) -> None:
        """Print a group's members whenever they change."""
        async for view in group.views():
            if self._json:
                document = {"group": group.name, "view": view.view, "members": view.members}
                print(msgspec.json.encode(document).decode(), flush=True)
            else:
                print(f"* {group.name}, view {view.view}: {', '.join(view.members)}", flush=True)

    def _show(self, message: GroupMessage, group: str) -> None:
        if self._json:
            document: dict[str, Any] = {
                "group": group,
                "sender": message.sender,
                "sequence": message.sequence,
                "attributes": {name: shown(value) for name, value in message.attributes.items()},
                "payload": message.payload.decode(errors="replace"),
            }
            print(msgspec.json.encode(document).decode(), flush=True)
            return
        words = [f"{name}={value!s}" for name, value in message.attributes.items()]
        sender = message.sender.rpartition("/")[0] or message.sender
        print(f"{group} {sender}:", *words, message.payload.decode(errors="replace"), flush=True)


async def send_to_groups(
    groups: tuple[str, ...],
    payload: str | None,
    attributes: dict[str, AttributeValue],
    *,
    must_exist: bool,
    lines: bool,
    url: str | None,
    json: bool,
) -> None:
    """Send one message, or every line of standard input, to groups."""
    async with connect(url) as client:
        sender = client.groups.sender(*groups, must_exist=must_exist)
        count = 0
        if lines:
            for line in sys.stdin.buffer:
                await sender.send(attributes, line.rstrip(b"\n"))
                count += 1
            await sender.flush()
        else:
            body = sys.stdin.buffer.read() if payload in (None, "-") else str(payload).encode()
            await sender.publish(attributes, body)
            count = 1
    where = ", ".join(groups)
    noun = "message" if count == 1 else "messages"
    document = {"groups": groups, "sent": count}
    print(msgspec.json.encode(document).decode() if json else f"{count} {noun} sent to {where}")
