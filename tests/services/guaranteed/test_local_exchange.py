"""Messages between the parts of a broker: their order, and when they end."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.machine import CloseSession, Effect, Send
from penstock.services.guaranteed.local_exchange import LocalExchange, LocalLink
from penstock.services.guaranteed.messages import CloseProducer, OpenProducer


def sent(link: str, name: str) -> Send:
    return Send(link, OpenProducer(name))


class Parts:
    """Two parts that answer each message as a script says."""

    def __init__(self, script: dict[str, list[Effect]]) -> None:
        self.script = script
        self.heard: list[tuple[str, str]] = []
        self.loopback = LocalExchange(
            {
                "@a": LocalLink("@b", {OpenProducer: self.hear}),
                "@b": LocalLink("@a", {OpenProducer: self.hear}),
            }
        )

    def hear(self, link: str, message: Any, now: int, out: list[Effect]) -> None:
        self.heard.append((link, message.producer))
        out += self.script.get(message.producer, [])


def test_effects_for_the_world_pass_in_order() -> None:
    effects: list[Effect] = [sent("ib", "1"), CloseSession("c", "2"), sent("sb", "3")]

    assert Parts({}).loopback.run_until_quiet(effects, 0) == effects


def test_a_local_message_is_delivered_and_never_leaves() -> None:
    parts = Parts({"1": [sent("ib", "answer")]})

    assert parts.loopback.run_until_quiet([sent("@a", "1")], 0) == [sent("ib", "answer")]
    assert parts.heard == [("@b", "1")]


def test_what_a_delivery_sends_comes_after_everything_that_was_sent_before() -> None:
    parts = Parts(
        {
            "1": [sent("@b", "1.1"), sent("x", "from 1")],
            "2": [sent("@a", "2.1"), sent("x", "from 2")],
            "1.1": [sent("x", "from 1.1")],
        }
    )
    effects: list[Effect] = [sent("@a", "1"), sent("x", "first"), sent("@b", "2")]
    outside = parts.loopback.run_until_quiet(effects, 0)

    assert [name for _, name in parts.heard] == ["1", "2", "1.1", "2.1"]
    assert [effect.message.producer for effect in outside if isinstance(effect, Send)] == [
        "first",
        "from 1",
        "from 2",
        "from 1.1",
    ]


def test_a_message_that_a_part_does_not_handle_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        Parts({}).loopback.run_until_quiet([Send("@a", CloseProducer("p"))], 0)
