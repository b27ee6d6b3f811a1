"""Facts and orders of protocols that speak in datagrams.

A datagram goes from one address to another, without a link between them: it arrives once, late,
or never, and nobody is told.  An address is the text that the driver can send to; in the network
world ``host:port``, in the simulator the peer's name.
"""

from __future__ import annotations

from typing import TypeAlias

from penstock.core.machine import Effect, Fact
from penstock.core.message import Message

Address: TypeAlias = str


class DatagramReceived(Fact, frozen=True, gc=False):
    """A datagram arrived; ``source`` is where it says it came from, which anybody can forge."""

    source: Address
    message: Message


class SendDatagram(Effect, frozen=True, gc=False):
    """Send a message to an address, once, and forget it."""

    destination: Address
    message: Message
