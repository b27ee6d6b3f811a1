"""Facts and orders of protocols without links compare by value."""

from __future__ import annotations

from penstock.core.datagrams import DatagramReceived, SendDatagram
from penstock.core.message import Message


class Note(Message, frozen=True):
    text: str


def test_a_datagram_is_its_address_and_its_message() -> None:
    assert DatagramReceived("a:1", Note("x")) == DatagramReceived("a:1", Note("x"))
    assert DatagramReceived("a:1", Note("x")) != DatagramReceived("b:1", Note("x"))
    assert SendDatagram("a:1", Note("x")) != DatagramReceived("a:1", Note("x"))
