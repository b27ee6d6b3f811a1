"""What clients ask about queues and change: status, browsing, purging, destinations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName, PersistFailed, PersistState
from penstock.core.open_request import OpenRequest
from penstock.core.tokens import Tokens
from penstock.services.queues.alias.alias_queue import AliasQueue
from penstock.services.queues.hosted import HostedQueues
from penstock.services.queues.messages import (
    Browse,
    ChangeDestination,
    ListQueues,
    PurgeQueue,
)
from penstock.services.queues.parameters import AliasConfig, split_address
from penstock.services.queues.routing import Routes
from penstock.services.queues.status import status_of

AdministrativeRequest: TypeAlias = Browse | PurgeQueue | ListQueues | ChangeDestination


class Administration:
    """Answers requests about the queues of one broker."""

    def __init__(self, hosted: HostedQueues, routes: Routes, tokens: Tokens) -> None:
        self._hosted = hosted
        self._queues, self._aliases = hosted.queues, hosted.aliases
        self._routes = routes
        self._tokens = tokens
        self._changing: dict[int, tuple[OpenRequest, str]] = {}
        self._handlers: dict[type, Callable[[LinkName, Any, Instant, list[Effect]], None]] = {
            Browse: self._browse,
            PurgeQueue: self._purge,
            ListQueues: self._list,
            ChangeDestination: self._change,
        }

    def handle(
        self, session: LinkName, message: AdministrativeRequest, now: Instant, out: list[Effect]
    ) -> None:
        """Answer a request, at once or when the change is durable."""
        self._handlers[type(message)](session, message, now, out)

    def _answer(
        self,
        asked: OpenRequest,
        document: object,
        out: list[Effect],
        problem: str = "",
    ) -> None:
        out.append(asked.answer(msgspec.json.encode(document), problem=problem))

    def _browse(self, session: LinkName, message: Browse, now: Instant, out: list[Effect]) -> None:
        queue = self._queues.get(message.queue)
        if queue is not None:
            queue.browse(session, message, out)
            return
        problem = self._hosted.no_such_queue(message.queue)
        if message.queue in self._aliases:
            problem = f"{message.queue!r} is an alias queue: browse its destinations"
        out.append(OpenRequest(session, message).answer(problem=problem))

    def _purge(
        self, session: LinkName, message: PurgeQueue, now: Instant, out: list[Effect]
    ) -> None:
        queue = self._hosted.find(message.queue)
        if queue is None:
            problem = self._hosted.no_such_queue(message.queue)
            self._answer(OpenRequest(session, message), {}, out, problem)
            return
        purged = queue.purge(now, out)
        self._hosted.changed(queue)
        self._answer(OpenRequest(session, message), {"purged": purged}, out)

    def _list(
        self, session: LinkName, message: ListQueues, now: Instant, out: list[Effect]
    ) -> None:
        chosen = self._hosted.all()
        problem = ""
        if message.queue:
            found = self._hosted.find(message.queue)
            chosen = [] if found is None else [found]
            problem = self._hosted.no_such_queue(message.queue) if found is None else ""
        statuses = [status_of(each, now) for each in chosen]
        for alias in chosen:
            if isinstance(alias, AliasQueue):
                alias.ask_loads(now, out)
        document = {"broker": self._routes.broker, "queues": statuses}
        self._answer(OpenRequest(session, message), document, out, problem)

    # -- destinations -----------------------------------------------------------------------

    def _change(
        self, session: LinkName, message: ChangeDestination, now: Instant, out: list[Effect]
    ) -> None:
        alias = self._aliases.get(message.alias)
        problem = self._objection(message)
        if problem or alias is None:
            self._answer(OpenRequest(session, message), {}, out, problem)
            return
        if message.retire:
            alias.retire_destination(message.destination, now, out)
        else:
            alias.add_destination(message.destination, self._routes, now, out)
        self._hosted.changed(alias)
        token = self._tokens.take("")
        self._changing[token] = (OpenRequest(session, message), alias.name)
        saved = msgspec.msgpack.encode(alias.addresses)
        out.append(PersistState(token, {_destinations_key(alias.name): saved}))

    def _objection(self, message: ChangeDestination) -> str:
        alias = self._aliases.get(message.alias)
        if alias is None:
            return f"broker {self._routes.broker!r} has no alias queue {message.alias!r}"
        if message.retire and message.destination not in alias.addresses:
            known = ", ".join(alias.addresses) or "none"
            return (
                f"{message.destination!r} is not a destination of {alias.name!r} (it has {known})"
            )
        try:
            split_address(message.destination)
        except ValueError as error:
            return str(error)
        return ""

    def resolved(self, token: int, failure: PersistFailed | None, out: list[Effect]) -> None:
        """Answer a change of destinations that is durable, or failed."""
        changed = self._changing.pop(token, None)
        if changed is not None:
            asked, alias = changed
            document = {"destinations": self._aliases[alias].addresses}
            if failure is None:
                self._answer(asked, document, out)
                return
            encoded = msgspec.json.encode(document)
            reason, uncertain = failure.reason, failure.uncertain
            out.append(asked.answer(encoded, problem=reason, uncertain=uncertain))


def _destinations_key(alias: str) -> str:
    return f"alias/{alias}/destinations"


def with_saved_destinations(config: AliasConfig, saved: Mapping[str, bytes]) -> AliasConfig:
    """The configuration with the destinations that an operator set while the broker ran, if any."""
    kept = saved.get(_destinations_key(config.name))
    if kept is None:
        return config
    destinations = msgspec.msgpack.decode(kept, type=tuple[str, ...])
    return msgspec.structs.replace(config, destinations=destinations)
