"""The guaranteed service's keys in BROKER.toml, and its machine built from them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from penstock.core.configuration import check_name
from penstock.core.service import BrokerContext, ServiceTable
from penstock.services.guaranteed.broker import GuaranteedBroker
from penstock.services.guaranteed.parameters import GuaranteedParameters


class GuaranteedSettings(msgspec.Struct, frozen=True):
    """What the service is told at one broker."""

    pubends: tuple[str, ...] = ()
    guaranteed: GuaranteedParameters = GuaranteedParameters()


class GuaranteedTable(ServiceTable, frozen=True, forbid_unknown_fields=True):
    """The service's keys in BROKER.toml."""

    pubends: Annotated[int, msgspec.Meta(ge=0)] | tuple[str, ...] = 1
    guaranteed: GuaranteedParameters = GuaranteedParameters()

    @classmethod
    def hosting_nothing(cls) -> dict[str, Any]:
        """A broker of its own has one pubend."""
        return {"pubends": 0}

    def settings_for(self, broker: str) -> GuaranteedSettings:
        """Pubends that are only counted are named after the broker."""
        return GuaranteedSettings(self.pubend_names(broker), self.guaranteed)

    def pubend_names(self, broker: str) -> tuple[str, ...]:
        """The pubends' names: as given, or numbered after the broker."""
        if isinstance(self.pubends, int):
            return tuple(f"{broker}.{number}" for number in range(1, self.pubends + 1))
        return self.pubends

    @property
    def fair_links(self) -> bool:
        """As its congestion control wants it."""
        return self.guaranteed.links_are_fair

    def check(self, broker: str) -> None:
        """What the types alone do not say; raises ``ValueError``."""
        names = self.pubend_names(broker)
        for pubend in names:
            check_name("pubends", pubend)
        if len(set(names)) < len(names):
            raise ValueError("pubends: a name stands twice; give each pubend its own")


def build(context: BrokerContext) -> GuaranteedBroker:
    """The service's machine; the broker's own streams are pubends like any other."""
    settings: GuaranteedSettings = context.settings
    return GuaranteedBroker(
        context.broker,
        (*settings.pubends, *context.own_streams),
        settings.guaranteed,
        context.tokens,
        saved=context.saved,
        logs=context.logs,
        queued_bytes=context.queued_bytes,
        flow_bytes=context.flow_bytes,
        now=context.now,
    )
