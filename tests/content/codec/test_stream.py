"""Messages on a stream, and bytes that are none."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import pytest

from penstock.content.codec.envelope import plain_seal
from penstock.content.codec.malformed import MalformedMessage
from penstock.content.codec.stream import Decoder, encode, encode_joined
from penstock.content.rows.batch import Batch
from penstock.core.message import Message


class Anything(Message, frozen=True):
    value: object


def enveloped(head: object, *attachments: bytes) -> bytes:
    return b"".join(plain_seal(msgspec.msgpack.encode(head), list(attachments)))


def test_messages_come_back_as_they_were(
    kinds: SimpleNamespace, specimens: dict[str, Message]
) -> None:
    decoder: Decoder[Message] = Decoder(kinds.every)
    for specimen in specimens.values():
        decoded = decoder.decode(b"".join(encode(specimen)))
        assert type(decoded) is type(specimen)
        assert encode_joined(decoded) == encode_joined(specimen)


def test_the_bytes_of_a_batch_that_arrived_are_forwarded_uncopied(
    kinds: SimpleNamespace, batch: Batch
) -> None:
    decoder: Decoder[Message] = Decoder(kinds.every)
    arrived = decoder.decode(encode_joined(kinds.Rows("p", batch)))
    block = arrived.batch.encode()
    assert any(piece is block for piece in encode(kinds.Rows("q", arrived.batch)))


def test_a_type_that_cannot_travel_is_named_and_the_next_message_is_whole(
    kinds: SimpleNamespace, batch: Batch
) -> None:
    with pytest.raises(TypeError, match="complex cannot travel in a message"):
        encode(Anything(1j))
    assert Decoder(kinds.every).decode(encode_joined(kinds.Rows("p", batch))).producer == "p"


def test_other_types_than_those_given_are_refused(kinds: SimpleNamespace) -> None:
    data = encode_joined(kinds.Note("x", 1))
    with pytest.raises(MalformedMessage, match="Note"):
        Decoder(kinds.every[1:]).decode(data)


def test_a_wrong_value_is_named_by_its_field(kinds: SimpleNamespace) -> None:
    with pytest.raises(MalformedMessage, match=r"Note\.number: Expected `int`, got `str`"):
        Decoder(kinds.every).decode(enveloped(["Note", "x", "y"]))
    with pytest.raises(MalformedMessage, match=r"Note: Expected `array` of at least length 3"):
        Decoder(kinds.every).decode(enveloped(["Note"]))


@pytest.mark.parametrize("head", [7, [], [7], ["Nothing"], [["Note"]], {}, ["x" * 300, 1]])
def test_a_head_that_is_no_message_is_refused(kinds: SimpleNamespace, head: object) -> None:
    with pytest.raises(MalformedMessage):
        Decoder(kinds.every).decode(enveloped(head))


def test_a_head_that_is_no_messagepack_is_refused(kinds: SimpleNamespace) -> None:
    with pytest.raises(MalformedMessage):
        Decoder(kinds.every).decode(b"".join(plain_seal(b"\xc1", [])))


def test_attachments_must_be_those_that_the_head_refers_to(
    kinds: SimpleNamespace, batch: Batch
) -> None:
    block = bytes(batch.encode())
    decoder: Decoder[Message] = Decoder(kinds.every)
    with pytest.raises(MalformedMessage, match="an attachment is missing"):
        decoder.decode(enveloped(["Rows", "p", 2]))
    with pytest.raises(MalformedMessage, match="attachments that nothing refers to"):
        decoder.decode(enveloped(["Rows", "p", 2], block, block))
    assert len(decoder.decode(enveloped(["Rows", "p", 2], block)).batch) == 2
