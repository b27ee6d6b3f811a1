"""``penstock join`` and the part of ``penstock send`` that is for groups."""

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
        str | None, Parameter(help="Where the broker is, penstock://host:port; or PENSTOCK_URL.")
    ] = None,
    json: Annotated[bool, Parameter(help="Print JSON, one document a line.")] = False,
) -> None:
    """Join groups, and print who is in them and what they are sent, until interrupted.

    Parameters
    ----------
    group
        The groups; one that does not exist is created.
    name
        What this member is called; made up without it.
    inbox
        Also print what is sent to this client alone (penstock send --group @NAME).
    count
        Stop after so many messages; 0 goes on for ever.
    wait_s
        Stop when nothing came for so long.
    views
        Whether changes of the membership are printed.
    """
    if not group and not inbox:
        with told_in_one_line(ValueError):
            raise ValueError("name a group to join, or use --inbox")
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
    """Whether nothing came for as long as was asked to wait, which is an end and no mistake."""
    return isinstance(error, DeadlineExceeded)


class _Printer:
    """Prints messages and views of several groups."""

    def __init__(self, count: int, json: bool) -> None:
        self._left = count
        self._json = json

    async def messages(self, group: Group, wait_s: float | None) -> None:
        """Print what a group is sent, until enough has come."""
        waiting = {} if wait_s is None else {"deadline_s": wait_s}
        async for message in group.messages(**waiting):
            self._show(message, group.name)
            self._left -= 1
            if self._left == 0:
                return

    async def views(self, group: Group) -> None:
        """Print who is in a group, whenever that changes."""
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
    """Send one message, or every line of the standard input, to groups."""
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


def why_text(found: list[dict[str, Any]]) -> str:
    """What holds a client's group senders back, for people."""
    lines = []
    for each in found:
        account = each["account"]
        rate = account.get("rate_packets_per_s")
        may = f", may send {rate:g} packets/s" if rate is not None else ""
        lines += [
            f"{each['sender']} to {', '.join(each['groups']) or 'nobody yet'}: "
            f"{each['waiting_messages']} messages wait, the first for "
            f"{each['waiting_for_s']:.1f} s",
            f"  law:     {each['law']}, benefit {each['benefit']}",
            f"  balance: {account['balance']:g} {account['balance_unit']}{may}; "
            f"waits for {_cause(each)}",
            f"  price:   {each['price']:.4g} a packet"
            + (f"; the dearest link is {each['dearest_link']}" if each["dearest_link"] else ""),
        ]
        lines += [f"  tree:    {link['link']} {link['price']:.4g}" for link in each["tree"]]
    return "\n".join(lines)


def _cause(each: dict[str, Any]) -> str:
    if not each["waiting_messages"]:
        return "nothing"
    return (
        "confirmations (its window is full)"
        if each["window_full"]
        else each["account"]["waits_for"]
    )
