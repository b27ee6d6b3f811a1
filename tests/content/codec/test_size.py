"""Sizes without encoding."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.codec.size import SizeMeter, encoded_size, value_size
from penstock.content.codec.stream import encode_joined
from penstock.core.message import Message


class Payload(Message, frozen=True):
    data: bytes


def test_a_size_is_that_of_the_encoded_message(specimens: dict[str, Message]) -> None:
    meter = SizeMeter()
    for specimen in specimens.values():
        assert meter.size(specimen) == encoded_size(specimen) == len(encode_joined(specimen))


@given(st.lists(st.binary(max_size=300), min_size=1))
def test_a_meter_measures_each_message_alone(payloads: list[bytes]) -> None:
    meter = SizeMeter()
    for payload in payloads:
        message = Payload(payload)
        assert meter.size(message) == meter.size(message) == len(encode_joined(message))


def test_the_size_of_a_value_is_that_in_a_head() -> None:
    assert value_size({"a": 1}) == len(msgspec.msgpack.encode({"a": 1}))
