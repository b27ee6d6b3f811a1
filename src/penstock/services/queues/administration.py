"""What clients ask about queues, and change: status, browsing, purging, destinations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName, PersistFailed, PersistState, Priority, Send
from penstock.core.tokens import Tokens
from penstock.services.queues.alias.alias_queue import AliasQueue
from penstock.services.queues.messages import (
    Browse,
    Browsed,
    ChangeDestination,
    ListQueues,
    PurgeQueue,
    QueueAnswer,
)
from penstock.services.queues.parameters import AliasConfig, split_address
from penstock.services.queues.queue.queue import Queue
from penstock.services.queues.status import status_of

Request: TypeAlias = Browse | PurgeQueue | ListQueues | ChangeDestination
Hosted: TypeAlias = Queue | AliasQueue


class Administration:
    """Answers requests about the queues of one broker."""

    def __init__(
        self,
        broker: str,
        queues: Mapping[str, Queue],
        aliases: Mapping[str, AliasQueue],
        tokens: Tokens,
        touched: Callable[[Hosted], None],
    ) -> None:
        """``touched`` is told of every queue to which something was done."""
        self._broker = broker
        self._queues = queues
        self._aliases = aliases
        self._tokens = tokens
        self._touched = touched
        self._changing: dict[int, tuple[LinkName, int, str]] = {}

    def find(self, name: str) -> Hosted | None:
        """A queue or an alias queue."""
        return self._queues.get(name) or self._aliases.get(name)

    def no_such_queue(self, name: str) -> str:
        """The error for a name that nothing here has."""
        names = [*sorted(self._queues), *sorted(self._aliases)]
        has = f"it has {', '.join(names)}" if names else "it has none"
        return f"broker {self._broker!r} has no queue {name!r}; {has}"

    def request(
        self,
        session: LinkName,
        message: Request,
        next_hops: Mapping[str, LinkName],
        now: Instant,
        out: list[Effect],
    ) -> None:
        """Answer, now or when it is durable."""
        match message:
            case Browse():
                self._browse(session, message, out)
            case PurgeQueue():
                self._purge(session, message, now, out)
            case ListQueues():
                self._list(session, message, now, out)
            case ChangeDestination():
                self._change(session, message, next_hops, now, out)

    def _answer(
        self,
        session: LinkName,
        request: int,
        document: object,
        out: list[Effect],
        problem: str = "",
    ) -> None:
        answer = QueueAnswer(request, msgspec.json.encode(document), problem)
        out.append(Send(session, answer, Priority.CONTROL))

    def _browse(self, session: LinkName, message: Browse, out: list[Effect]) -> None:
        queue = self._queues.get(message.queue)
        if queue is not None:
            queue.browse(session, message, out)
            return
        problem = self.no_such_queue(message.queue)
        if message.queue in self._aliases:
            problem = f"{message.queue!r} is an alias queue: browse its destinations"
        out.append(Send(session, Browsed(message.request, (), 0, problem), Priority.CONTROL))

    def _purge(
        self, session: LinkName, message: PurgeQueue, now: Instant, out: list[Effect]
    ) -> None:
        hosted = self.find(message.queue)
        if hosted is None:
            self._answer(session, message.request, {}, out, self.no_such_queue(message.queue))
            return
        purged = hosted.purge(now, out)
        self._touched(hosted)
        self._answer(session, message.request, {"purged": purged}, out)

    def _list(
        self, session: LinkName, message: ListQueues, now: Instant, out: list[Effect]
    ) -> None:
        chosen: list[Hosted] = [*self._queues.values(), *self._aliases.values()]
        problem = ""
        if message.queue:
            found = self.find(message.queue)
            chosen = [] if found is None else [found]
            problem = self.no_such_queue(message.queue) if found is None else ""
        document = {"broker": self._broker, "queues": [status_of(each, now) for each in chosen]}
        self._answer(session, message.request, document, out, problem)

    # -- destinations -----------------------------------------------------------------------

    def _change(
        self,
        session: LinkName,
        message: ChangeDestination,
        next_hops: Mapping[str, LinkName],
        now: Instant,
        out: list[Effect],
    ) -> None:
        alias = self._aliases.get(message.alias)
        problem = self._objection(message)
        if problem or alias is None:
            self._answer(session, message.request, {}, out, problem)
            return
        if message.retire:
            alias.retire_destination(message.destination, now, out)
        else:
            alias.add_destination(message.destination, next_hops, now, out)
        self._touched(alias)
        token = self._tokens.take("")
        self._changing[token] = (session, message.request, alias.name)
        saved = msgspec.msgpack.encode(alias.destinations())
        out.append(PersistState(token, {_destinations_key(alias.name): saved}))

    def _objection(self, message: ChangeDestination) -> str:
        alias = self._aliases.get(message.alias)
        if alias is None:
            return f"broker {self._broker!r} has no alias queue {message.alias!r}"
        if message.retire and message.destination not in alias.destinations():
            known = ", ".join(alias.destinations()) or "none"
            return (
                f"{message.destination!r} is not a destination of {alias.name!r} (it has {known})"
            )
        try:
            split_address(message.destination)
        except ValueError as error:
            return str(error)
        return ""

    def resolved(self, token: int, failure: PersistFailed | None, out: list[Effect]) -> None:
        """The destinations of an alias queue are saved, or could not be."""
        changed = self._changing.pop(token, None)
        if changed is not None:
            session, request, alias = changed
            document = {"destinations": self._aliases[alias].destinations()}
            if failure is None:
                self._answer(session, request, document, out)
                return
            encoded = msgspec.json.encode(document)
            answer = QueueAnswer(request, encoded, failure.reason, failure.uncertain)
            out.append(Send(session, answer, Priority.CONTROL))


def _destinations_key(alias: str) -> str:
    return f"alias/{alias}/destinations"


def with_saved_destinations(config: AliasConfig, saved: Mapping[str, bytes]) -> AliasConfig:
    """The destinations that an operator set while the broker ran outlive the configuration's."""
    kept = saved.get(_destinations_key(config.name))
    if kept is None:
        return config
    destinations = msgspec.msgpack.decode(kept, type=tuple[str, ...])
    return msgspec.structs.replace(config, destinations=destinations)
