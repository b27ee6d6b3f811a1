"""Validates incoming messages: the message types of each kind of peer, and the limits on clients.

The machines trust their input, so it is checked here.  The decoder has already enforced the limits
of single values, which are part of the messages' types (``core/limits.py``), and
``overlay/gate.py`` checks what types cannot express.  In addition:

1. A client may send only client messages, a neighbour only broker messages.  Any other message is
   a breach of protocol and ends the connection.
2. Every publication of a client is validated completely, so that damaged rows are rejected here
   and not at a distant broker that does not know their sender.
3. Well-formed rows that break a limit are refused with the limit's name, and the connection stays
   open.
4. A subscription's window is reduced to the largest window that is allowed.
"""

from __future__ import annotations

from typing import Protocol, cast

import msgspec
import numpy as np

from penstock.content.rows.batch import Batch
from penstock.content.rows.block import MalformedBlock
from penstock.content.rows.columns import Array, Column
from penstock.core.message import BrokerMessage, ClientRequest, Message, RowsRequest
from penstock.net.broker.config import Limits
from penstock.overlay.gate import objection


class Breach(Exception):
    """The peer violates the protocol; its connection must end."""


class HasBatch(Protocol):
    """The attribute that every ``RowsRequest`` has."""

    @property
    def batch(self) -> Batch:
        """The rows."""


class HasWindow(Protocol):
    """What every request with ``windowed`` has."""

    @property
    def window_bytes(self) -> int:
        """How many bytes may be under way to its reader."""


class Refused(Exception):
    """A request breaks a limit; it is answered with the reason and the connection stays open."""


def check_neighbour(message: Message) -> None:
    """Accept a message from a neighbour, or raise ``Breach``."""
    if not isinstance(message, BrokerMessage):
        raise Breach(f"{type(message).__name__} is not a message between brokers")
    problem = objection(message)
    if problem:
        raise Breach(problem)


class Ingress:
    """Checks the messages of clients."""

    def __init__(self, limits: Limits) -> None:
        """The limits apply to every session."""
        self._limits = limits

    def check_client(self, message: Message) -> ClientRequest:
        """Return the message for the machine, or raise ``Breach`` or ``Refused``."""
        if isinstance(message, RowsRequest):
            self._check_batch(cast(HasBatch, message).batch)
            return message
        if not isinstance(message, ClientRequest):
            raise Breach(f"{type(message).__name__} is not a message that a client may send")
        if problem := objection(message):
            raise Breach(problem)
        return self._within_window(message) if message.windowed else message

    def _within_window(self, message: ClientRequest) -> ClientRequest:
        """Return the request with its window reduced to the limit."""
        wanted = cast(HasWindow, message).window_bytes
        if 0 < wanted <= self._limits.max_window_bytes:
            return message
        if wanted <= 0:
            raise Breach(f"{type(message).__name__}.window_bytes is not positive")
        return msgspec.structs.replace(message, window_bytes=self._limits.max_window_bytes)

    def _check_batch(self, batch: Batch) -> None:
        if not self._clearly_fine(batch):
            self._check_closely(batch)

    def _clearly_fine(self, batch: Batch) -> bool:
        """Whether the sizes in the encoding alone prove the batch valid, as is usual."""
        limits = self._limits
        extent = batch.extent()
        return (
            extent is not None
            and 0 < len(batch) <= limits.max_batch_rows
            and extent.columns <= limits.max_attributes
            and extent.name_bytes <= limits.max_name_bytes
            and extent.value_bytes <= limits.max_value_bytes
            and extent.payload_bytes <= limits.max_payload_bytes
        )

    def _check_closely(self, batch: Batch) -> None:
        limits = self._limits
        try:
            batch.validate()
        except MalformedBlock as error:
            raise Breach(f"malformed batch: {error}") from None
        if not len(batch):
            raise Breach("a publication without rows")
        if len(batch) > limits.max_batch_rows:
            raise Refused(
                f"a batch of {len(batch)} rows; at most {limits.max_batch_rows} are accepted "
                "(max_batch_rows): publish fewer at once"
            )
        self._check_attributes(batch)
        longest = _longest(batch.payloads[0])
        if longest > limits.max_payload_bytes:
            raise Refused(
                f"a payload of {longest} bytes; at most {limits.max_payload_bytes} are accepted "
                "(max_payload_bytes)"
            )

    def _check_attributes(self, batch: Batch) -> None:
        limits = self._limits
        columns = batch.columns
        if len(columns) > limits.max_attributes:
            most = _most_attributes(len(batch), columns)
            if most > limits.max_attributes:
                raise Refused(
                    f"a message with {most} attributes; at most {limits.max_attributes} are "
                    "accepted (max_attributes)"
                )
        for column in columns:
            # A character takes at most four bytes, so most names need no encoding to be measured.
            if (
                4 * len(column.name) > limits.max_name_bytes
                and len(column.name.encode()) > limits.max_name_bytes
            ):
                raise Refused(
                    f"an attribute name that begins {column.name[:32]!r} is longer than "
                    f"{limits.max_name_bytes} bytes (max_name_bytes)"
                )
            dictionary = column.encoded_dictionary
            if dictionary is None or len(dictionary.data) <= limits.max_value_bytes:
                continue
            longest = _longest(dictionary.offsets)
            if longest > limits.max_value_bytes:
                raise Refused(
                    f"attribute {column.name!r} holds {longest} bytes; at most "
                    f"{limits.max_value_bytes} are accepted (max_value_bytes): put large values "
                    "into the payload"
                )


def _longest(offsets: Array) -> int:
    return int(np.diff(offsets).max(initial=0))


def _most_attributes(rows: int, columns: tuple[Column, ...]) -> int:
    counts = np.zeros(rows, np.int64)
    for column in columns:
        counts += 1 if column.present is None else column.present
    return int(counts.max(initial=0))
