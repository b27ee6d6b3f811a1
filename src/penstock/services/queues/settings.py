"""The queue service's keys in BROKER.toml, and its machine built from them."""

from __future__ import annotations

import msgspec

from penstock.core.service import BrokerContext, ServiceTable
from penstock.services.queues.broker import QueueBroker
from penstock.services.queues.parameters import (
    AliasConfig,
    QueueConfig,
    QueueParameters,
    check_configuration,
)


class QueuesSettings(msgspec.Struct, frozen=True):
    """What the service is told at one broker."""

    queues: tuple[QueueConfig, ...] = ()
    aliases: tuple[AliasConfig, ...] = ()
    queue_parameters: QueueParameters = QueueParameters()


class QueuesTable(ServiceTable, frozen=True, forbid_unknown_fields=True):
    """The service's keys in BROKER.toml: a table for each queue and alias queue."""

    queues: dict[str, QueueConfig] = msgspec.field(default_factory=dict)
    aliases: dict[str, AliasConfig] = msgspec.field(default_factory=dict)
    queue_parameters: QueueParameters = QueueParameters()

    def settings_for(self, broker: str) -> QueuesSettings:
        """The same for the machine."""
        queues, aliases = tuple(self.queues.values()), tuple(self.aliases.values())
        return QueuesSettings(queues, aliases, self.queue_parameters)

    def check(self, broker: str) -> None:
        """What the types alone do not say; raises ``ValueError``."""
        check_configuration(tuple(self.queues.values()), tuple(self.aliases.values()))


def build(context: BrokerContext) -> QueueBroker:
    """The service's machine."""
    settings: QueuesSettings = context.settings
    return QueueBroker(
        context.broker,
        settings.queues,
        settings.aliases,
        settings.queue_parameters,
        context.tokens,
        saved=context.saved,
        logs=context.logs,
        now=context.now,
    )
