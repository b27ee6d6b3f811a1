"""Facts and orders of protocols that speak in datagrams.

A datagram goes from one address to another without a link between them.  It arrives once, late or
never, and no error reports its loss.  An address is a text that the driver can send to: in the
network ``host:port``, in the simulator the name of the peer.

``SendBestEffort`` makes the same promise on a link of the overlay, or to a client's session: the
message shares the bandwidth of the link, waits in a short queue of its own, and is dropped if that
queue is full.

Where messages arrive faster than a process wakes up, several arrive at once.  ``ReceivedTogether``
hands all of them to a machine in one fact, and ``SendTogether`` sends several messages on one link
in one effect.  Both mean the same as their messages one after another at that instant, and cost
less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from penstock.core.machine import Effect, Fact, LinkName
from penstock.core.message import Message

Address: TypeAlias = str


class DatagramReceived(Fact, frozen=True, gc=False):
    """A datagram arrived; ``source`` is the address that it claims, which can be forged."""

    source: Address
    message: Message


class SendDatagram(Effect, frozen=True, gc=False):
    """Send a message to an address once, without a promise."""

    destination: Address
    message: Message


class SendBestEffort(Effect, frozen=True, gc=False):
    """Send a message on a link (or to a client's session) as a datagram once, without a promise."""

    link: LinkName
    message: Message


class ReceivedTogether(Fact, frozen=True, gc=False):
    """Several messages arrived on a link at once, in this order."""

    link: LinkName
    messages: Sequence[Message]


class SendTogether(Effect, frozen=True, gc=False):
    """Send messages on a link in this order, in as few datagrams as they fit into."""

    link: LinkName
    messages: Sequence[Message]


BestEffort: TypeAlias = SendBestEffort | SendTogether
"""What a driver sends without a promise."""
