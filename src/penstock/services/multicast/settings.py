"""The multicast service's keys in BROKER.toml, and its machine built from them."""

from __future__ import annotations

import msgspec

from penstock.core.service import BrokerContext, ServiceTable
from penstock.services.multicast.broker import MulticastBroker
from penstock.services.multicast.parameters import MulticastParameters


class MulticastSettings(msgspec.Struct, frozen=True):
    """What the service is told at one broker."""

    multicast: MulticastParameters = MulticastParameters()


class MulticastTable(ServiceTable, frozen=True, forbid_unknown_fields=True):
    """The service's key in BROKER.toml."""

    multicast: MulticastParameters = MulticastParameters()

    def settings_for(self, broker: str) -> MulticastSettings:
        """The same for the machine."""
        return MulticastSettings(self.multicast)


def build(context: BrokerContext) -> MulticastBroker:
    """The service's machine."""
    return MulticastBroker(
        context.broker,
        context.settings.multicast,
        context.overlay,
        queued_bytes=context.queued_bytes,
        now=context.now,
    )
