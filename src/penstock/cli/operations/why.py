"""``penstock why``: what slows a publisher or a producer down, or why a subscription is behind.

Every service knows its own senders by name, and the guaranteed one its readers.  They are asked in
turn (``EXPLAINERS``); the first one that knows the name explains it, and if none does the answer
says which names there are.  A service takes part with one function and one line in the table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Final

import msgspec

from penstock.cli.errors import UserError, told_in_one_line
from penstock.client.client import Client, connect
from penstock.client.errors import PenstockError

Document = dict[str, Any]


class Unknown(Exception):
    """A service does not know the name; the text says which names it knows."""


class Answer(msgspec.Struct, frozen=True):
    """What a service says: everything, and the same for people."""

    document: Document
    text: str


class Question:
    """What is asked; a broker is connected to when the first service wants to ask it."""

    def __init__(
        self, name: str, group: str, url: str | None, deadline_s: float, open_for: AsyncExitStack
    ) -> None:
        """``group`` is for gossip peers alone; the connection is closed with ``open_for``."""
        self.name = name
        self.group = group
        self.deadline_s = deadline_s
        self._url = url
        self._open_for = open_for
        self._client: Client | None = None

    async def client(self) -> Client:
        """A client of the broker that is asked."""
        if self._client is None:
            connecting = connect(self._url, deadline_s=self.deadline_s)
            self._client = await self._open_for.enter_async_context(connecting)
        return self._client


def why(
    name: str,
    /,
    *,
    group: str = "default",
    url: str | None = None,
    deadline: float = 10.0,
    json: bool = False,
) -> None:
    """Say what slows a sender down, by which rule and since when; or why a reader is behind.

    Parameters
    ----------
    name
        A pubend, an alias queue or one of its producers (ask the broker that hosts it), a client
        that sends to groups or publishes datagrams (ask its broker), or the address of a gossip
        peer on this machine, host:port.  Or a subscription (ask the broker that it reads from).
    group
        Which group of a gossip peer.
    url
        Where that broker is, penstock://host:port; PENSTOCK_URL without it.
    deadline
        Seconds to wait for the answer.
    json
        Print everything that is known as JSON.
    """
    with told_in_one_line(PenstockError, OSError, ValueError):
        service, answer = asyncio.run(_ask(name, group, url, deadline))
    if json:
        print(msgspec.json.encode({"service": service, **answer.document}).decode())
    else:
        print(answer.text)


async def _ask(name: str, group: str, url: str | None, deadline_s: float) -> tuple[str, Answer]:
    unknown = []
    async with AsyncExitStack() as open_for:
        question = Question(name, group, url, deadline_s, open_for)
        for service, explain in EXPLAINERS.items():
            try:
                return service, await explain(question)
            except Unknown as answer:
                unknown.append(str(answer))
    raise UserError(f"nobody here is called {name!r}: {'; '.join(unknown)}")


# -- gossip ----------------------------------------------------------------------------------------


async def _ask_peer(question: Question) -> Answer:
    host, _, port = question.name.rpartition(":")
    if not host or not port.isdigit():
        raise Unknown("a gossip peer is named by its address, host:port")
    # A peer's command brings its whole machinery: only for those who ask for a peer.
    from penstock.cli.messaging.gossip import explain_peer

    document, text = await explain_peer(question.name, question.group, question.deadline_s)
    return Answer(document, text)


# -- guaranteed ------------------------------------------------------------------------------------


async def _ask_pubend(question: Question) -> Answer:
    client = await question.client()
    hosted = sorted((await client.status())["services"]["guaranteed"]["pubends"])
    if question.name not in hosted:
        raise Unknown(f"its pubends are {', '.join(hosted) or 'none'}")
    document = await client.why(question.name)
    return Answer(document, _pubend_text(document))


def _pubend_text(document: Document) -> str:
    name, observed = document["pubend"], document["observed_msgs_per_s"]
    log = f"  log:        {document['log_bytes']} bytes; {document['log_held_by']}"
    problems = [f"  problem:    {problem}" for problem in document.get("problems", ())]
    if not document["throttled"]:
        nothing = f"{name}: nothing slows it down; it publishes {observed:.0f} msg/s"
        return "\n".join([nothing, log, *problems])
    lines = [
        f"{name}: may publish {document['allowed_msgs_per_s']:.1f} msg/s and publishes "
        f"{observed:.1f}, limited for {document['for_s']:.0f} s",
        f"  rule:       {document['rule']}",
        f"  cause:      {document['cause']}",
        f"  waiting:    {document['publications_waiting']} publications",
    ]
    if document["bottleneck_link"]:
        lines.append(f"  bottleneck: link {document['bottleneck_link']}")
    return "\n".join([*lines, log, *problems])


async def _ask_subscription(question: Question) -> Answer:
    client = await question.client()
    try:
        document = await client.why(question.name, deadline_s=question.deadline_s)
    except PenstockError:
        raise Unknown("no subscription that is connected or durable has that name") from None
    return Answer(document, _subscription_text(document))


def _subscription_text(document: Document) -> str:
    lines = []
    if not document["readers"]:
        lines.append(
            f"{document['subscription']}: durable, without a reader for "
            f"{document['absent_for_s']:.0f} s; it keeps what is published until one comes"
        )
        lines += [
            f"  {pubend}: from tick {tick} on" for pubend, tick in document["positions"].items()
        ]
    for each in document["readers"]:
        lines += [
            f"{document['subscription']} ({each['session']}): {_standing(each)}",
            f"  cause:      {each['cause']}",
            f"  its window: {each['under_way_bytes']} of {each['window_bytes']} bytes are not "
            f"taken, {each['waiting_bytes']} wait behind it",
        ]
    return "\n".join(lines)


def _standing(reader: Document) -> str:
    if not reader["catching_up"]:
        times = reader["times_slow"]
        return f"live; it was too slow {times} times before" if times else "live"
    streams = ", ".join(reader["catching_up"])
    slow = f", too slow for {reader['slow_for_s']:.0f} s" if reader["slow"] else ""
    return f"catching up on {streams}, {reader['behind_s']:.1f} s behind{slow}"


# -- queues ----------------------------------------------------------------------------------------


async def _ask_alias(question: Question) -> Answer:
    client = await question.client()
    aliases = [each for each in await client.queues.status() if each["kind"] == "alias"]
    for alias in aliases:
        if question.name in (alias["name"], *alias["producers"]):
            return Answer(alias, _alias_text(alias))
    known = ", ".join(each["name"] for each in aliases)
    producers = [producer for each in aliases for producer in each["producers"]]
    also = f" (their producers are {', '.join(producers)})" if producers else ""
    raise Unknown(f"its alias queues are {known or 'none'}{also}")


def _alias_text(document: Document) -> str:
    lines = [
        f"{document['name']}: {document['messages']} messages are here, {document['waiting']} of "
        f"them wait to be forwarded; producers send {document['received_msgs_per_s']:.0f} msg/s, "
        f"{document['forwarded_msgs_per_s']:.0f} leave",
        f"  rule:       {document['balancing']}, {document['law']} law, every "
        f"{document['period_s']:g} s",
    ]
    for each in document["destinations"]:
        nothing = each["gets_nothing_because"]
        takes = each["consumed_msgs_per_s"]
        rate = "at an unknown rate" if takes is None else f"{takes:.0f} msg/s"
        state = f"gets nothing: {nothing}" if nothing else f"consumes {rate}, {each['load']} wait"
        lines.append(f"  {each['address']}: {state}")
    if document["problem"]:
        lines.append(f"  problem:    {document['problem']}")
    return "\n".join(lines)


# -- multicast -------------------------------------------------------------------------------------


async def _ask_group_sender(question: Question) -> Answer:
    client = await question.client()
    try:
        found = await client.groups.why(question.name, deadline_s=question.deadline_s)
    except PenstockError as error:
        raise Unknown(str(error)) from None
    from penstock.cli.messaging.groups import why_text

    return Answer({"senders": found}, why_text(found))


# -- datagram --------------------------------------------------------------------------------------


async def _ask_datagram_publisher(question: Question) -> Answer:
    client = await question.client()
    try:
        document = await client.why_datagrams(question.name, deadline_s=question.deadline_s)
    except PenstockError as error:
        raise Unknown(str(error)) from None
    from penstock.cli.messaging.datagram import explanation_text

    return Answer(document, explanation_text(document))


EXPLAINERS: Final[dict[str, Callable[[Question], Awaitable[Answer]]]] = {
    "gossip": _ask_peer,
    "guaranteed": _ask_pubend,
    "queues": _ask_alias,
    "multicast": _ask_group_sender,
    "datagram": _ask_datagram_publisher,
    "subscription": _ask_subscription,
}
"""By service, in the order in which they are asked; each raises ``Unknown``.  Readers come last: a
program may send and read under one name, and it is senders who are slowed down."""
