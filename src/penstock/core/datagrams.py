"""Facts and orders of protocols that speak in datagrams.

A datagram goes from one address to another, without a link between them: it arrives once, late,
or never, and nobody is told.  An address is the text that the driver can send to; in the network
world ``host:port``, in the simulator the peer's name.

``SendBestEffort`` is the same promise on a link of the overlay, or to a client's session: the
message shares the link's bandwidth, waits in a short queue of its own, and is dropped if that is
full.

Where messages come faster than a process wakes up, several arrive at once.  ``ReceivedTogether``
tells a machine of all of them in one fact, and ``SendTogether`` orders several messages for one
link in one effect.  Both mean exactly what the same messages one after another mean at that
instant; they only cost less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from penstock.core.machine import Effect, Fact, LinkName
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


class SendBestEffort(Effect, frozen=True, gc=False):
    """Send a message on a link (or to a client's session) as a datagram, once, and forget it."""

    link: LinkName
    message: Message


class ReceivedTogether(Fact, frozen=True, gc=False):
    """Messages arrived on a link at once, in this order."""

    link: LinkName
    messages: Sequence[Message]


class SendTogether(Effect, frozen=True, gc=False):
    """Send messages on a link as datagrams, once, in this order, in as few as they fit into."""

    link: LinkName
    messages: Sequence[Message]


BestEffort: TypeAlias = SendBestEffort | SendTogether
"""What a driver may be ordered to send without any promise."""
