"""A service's account of itself: everything that the rest of the system has to know of it.

``overlay``, ``net``, the client's session, ``cli`` and ``lab`` iterate over the descriptions in
``registry.py`` and name no service.  A description is declarative: it refers to code by entry
points (``module:name``) that are imported when they are first used, so that a command which
touches no broker imports none, and so that a service can refer to layers above it (its client
facade, its commands) without importing them.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any

from penstock.core.message import Message, messages_in
from penstock.core.service import BrokerContext, Service


class ServiceDescription:
    """One delivery service."""

    def __init__(
        self,
        name: str,
        *,
        messages: tuple[str, ...],
        broker: str = "",
        settings: str = "",
        table: str = "",
        why_text: str = "",
        client: str = "",
        scenario: str = "",
        papers: str = "",
        telemetry_publisher: str = "",
        commands: dict[str, tuple[str, str]] | None = None,
    ) -> None:
        """Entry points, all optional but the modules of the messages.

        ``broker`` builds the service's machine at a broker from a ``BrokerContext``; a service
        without one runs in clients alone.  ``settings`` is the struct of what that machine is told,
        ``table``  the struct of its keys in BROKER.toml, with ``settings_for(broker)`` and
        ``check(broker)``.  ``why_text`` turns its answers to ``penstock
        why`` into text.  ``client`` is its facade, built from a client.  ``scenario`` is its
        part of the laboratory (``LabService``); ``papers`` are the experiments of its paper.
        ``telemetry_publisher`` publishes a broker's own telemetry on a stream of the service.
        ``commands`` are its commands: entry point and one line of help, by name.
        """
        self.name = name
        self.commands = commands or {}
        self.scenario = scenario
        self.papers = papers
        self._message_modules = messages
        self._broker = broker
        self._settings = settings
        self._table = table
        self._why_text = why_text
        self._client = client
        self._telemetry_publisher = telemetry_publisher

    @cached_property
    def messages(self) -> tuple[type[Message], ...]:
        """Every message type of the service."""
        modules = map(import_module, self._message_modules)
        return tuple(kind for module in modules for kind in messages_in(module))

    @property
    def runs_at_brokers(self) -> bool:
        """Whether brokers take part in the service."""
        return bool(self._broker)

    def build(self, context: BrokerContext) -> Service:
        """The service's machine at one broker."""
        service: Service = load(self._broker)(context)
        return service

    @cached_property
    def settings(self) -> type[Any] | None:
        """The struct of what the machine is told; None if it is told nothing."""
        return load(self._settings) if self._settings else None

    @cached_property
    def table(self) -> type[Any] | None:
        """The struct of the service's keys in BROKER.toml; None if it has none."""
        return load(self._table) if self._table else None

    def why_text(self, document: dict[str, Any]) -> str:
        """An answer to ``penstock why``, for people."""
        text: str = load(self._why_text)(document)
        return text

    @property
    def client_facade(self) -> Any:
        """What a client offers for the service; None if it has nothing of its own."""
        return load(self._client) if self._client else None

    @property
    def telemetry_publisher(self) -> Any:
        """Publishes a broker's own telemetry; None if the service does not offer that."""
        return load(self._telemetry_publisher) if self._telemetry_publisher else None


def load(entry_point: str) -> Any:
    """What an entry point ``module:name`` refers to."""
    module, _, name = entry_point.partition(":")
    return getattr(import_module(module), name)
