"""What may come in: the vocabulary of each kind of peer, and the limits on clients.

The machines inside trust what reaches them.  Here is where that trust is earned.  The limits of
single values are those of the messages' types, which the decoder has enforced before
(``core/limits.py``), and what types cannot say is asked of ``overlay/gate.py``; beyond that:

1. A client speaks only the clients' messages, a neighbour only the brokers'.  Anything else is a
   breach of protocol and ends the connection.
2. Whatever a client publishes is read once, whole, so that damaged rows stop here and not at some
   broker far away that cannot tell who sent them.
3. Rows that are well-formed and break a limit are refused with the limit's name, and the
   connection goes on.
4. A subscription's window is cut to what one subscription may have under way.
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
    """The peer does not keep to the protocol; its connection must end."""


class HasBatch(Protocol):
    """What every ``RowsRequest`` has."""

    @property
    def batch(self) -> Batch:
        """The rows."""


class HasWindow(Protocol):
    """What every request with ``windowed`` has."""

    @property
    def window_bytes(self) -> int:
        """How many bytes may be under way to its reader."""


class Refused(Exception):
    """A request breaks a limit; the client is told so and goes on."""


def check_neighbour(message: Message) -> None:
    """Let a message from a neighbour pass, or raise ``Breach``."""
    if not isinstance(message, BrokerMessage):
        raise Breach(f"{type(message).__name__} is not a message between brokers")
    problem = objection(message)
    if problem:
        raise Breach(problem)


class Ingress:
    """Checks what clients send."""

    def __init__(self, limits: Limits) -> None:
        """These limits hold for every session."""
        self._limits = limits

    def check_client(self, message: Message) -> ClientRequest:
        """The message to hand on; raises ``Breach`` or ``Refused``."""
        if isinstance(message, RowsRequest):
            self._check_batch(cast(HasBatch, message).batch)
            return message
        if not isinstance(message, ClientRequest):
            raise Breach(f"{type(message).__name__} is not a message that a client may send")
        if problem := objection(message):
            raise Breach(problem)
        return self._within_window(message) if message.windowed else message

    def _within_window(self, message: ClientRequest) -> ClientRequest:
        """The request with its window cut to what is allowed."""
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
        """Whether the bytes alone say that nothing is wrong, which is the rule."""
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
