"""The base of messages: frozen arrays that carry the name of their type."""

from __future__ import annotations

import msgspec
import pytest

from penstock.core.message import Message


class Ping(Message, frozen=True, gc=False):
    number: int


class Pong(Message, frozen=True, gc=False):
    number: int


def test_a_message_travels_as_an_array_that_starts_with_its_name() -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(Ping(3))) == ["Ping", 3]


@pytest.mark.parametrize("message", [Ping(1), Pong(1)])
def test_a_union_tells_messages_of_one_shape_apart(message: Message) -> None:
    decoder = msgspec.msgpack.Decoder(Ping | Pong)
    decoded = decoder.decode(msgspec.msgpack.encode(message))
    assert type(decoded) is type(message)
    assert decoded == message


def test_an_unknown_message_is_refused() -> None:
    decoder = msgspec.msgpack.Decoder(Ping)
    with pytest.raises(msgspec.ValidationError):
        decoder.decode(msgspec.msgpack.encode(Pong(1)))


def test_a_message_never_changes() -> None:
    with pytest.raises(AttributeError):
        Ping(1).number = 2  # type: ignore[misc]
