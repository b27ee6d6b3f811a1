from __future__ import annotations

from typing import Any

import pytest

from penstock.services.guaranteed.broker import GuaranteedBroker
from penstock.services.guaranteed.dispatch import joined
from penstock.services.guaranteed.messages import Nack, Publish, Taken


def handler(link: str, message: Any, now: int, out: list[Any]) -> None:
    raise AssertionError


def test_tables_are_joined() -> None:
    assert joined({Nack: handler}, {Publish: handler}) == {Nack: handler, Publish: handler}


def test_a_message_type_has_one_handler() -> None:
    with pytest.raises(ValueError, match="Taken has two handlers"):
        joined({Taken: handler}, {Taken: handler})


def test_a_broker_ignores_messages_that_it_does_not_handle(network: Any) -> None:
    brokers = network([], {"b": ("p",)})
    service: GuaranteedBroker = brokers.nodes["b"].services["guaranteed"]

    assert service.received("c", object(), brokers.now) == []  # type: ignore[arg-type]
