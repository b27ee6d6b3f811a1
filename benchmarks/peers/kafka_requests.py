"""Kafka's requests and answers, as far as they are needed here: encoding and decoding.

For each request an old version is used that Kafka 4 still accepts, without the tagged fields of
newer ones: they are shorter and sufficient.  All of them concern one partition, 0.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

import msgspec

from benchmarks.peers.frames import FrameReader

PARTITION: Final = 0
CLIENT: Final = "bench"
HEAD_BYTES: Final = 8
"""Of an answer: the size of what follows, and the number of the request."""

NO_TRANSACTION: Final = -1
ONE_REPLICA: Final = 1
LEADER: Final = 1
"""Acknowledged by the leader.  It has the only replica, so "by all" would mean the same."""

ANSWER_WITHIN_MS: Final = 30_000
CLIENT_NOT_REPLICA: Final = -1
READ_UNCOMMITTED: Final = 0
AT_LEAST_BYTES: Final = 1
AT_MOST_BYTES: Final = 50 << 20
AT_MOST_OF_A_PARTITION: Final = 1 << 20
WAIT_AT_MOST_MS: Final = 500
"""The four are the Java client's defaults: an answer as soon as there is data."""

NO_GENERATION: Final = -1
"""For a group whose only member assigns its partition itself."""

BROKERS_RETENTION: Final = -1
NO_OFFSET: Final = -1
"""The offset of a group without a commit."""

OK: Final = 0
NO_TOPIC: Final = 3
COORDINATOR_LOADS, NO_COORDINATOR, NOT_COORDINATOR = 14, 15, 16
GROUP_HAS_MEMBERS, NO_GROUP = 68, 69


class Api(msgspec.Struct, frozen=True):
    """A kind of request and its version."""

    name: str
    key: int
    version: int


PRODUCE: Final = Api("Produce", 0, 7)
FETCH: Final = Api("Fetch", 1, 4)
OFFSET_COMMIT: Final = Api("OffsetCommit", 8, 2)
OFFSET_FETCH: Final = Api("OffsetFetch", 9, 1)
FIND_COORDINATOR: Final = Api("FindCoordinator", 10, 0)
CREATE_TOPICS: Final = Api("CreateTopics", 19, 2)
DELETE_TOPICS: Final = Api("DeleteTopics", 20, 1)
DELETE_GROUPS: Final = Api("DeleteGroups", 42, 0)


def text(said: str) -> bytes:
    """A text preceded by its length."""
    return struct.pack(">h", len(said)) + said.encode()


def several(pieces: Sequence[bytes]) -> bytes:
    """Items preceded by their number."""
    return struct.pack(">i", len(pieces)) + b"".join(pieces)


def request(api: Api, number: int, body: bytes) -> bytes:
    """A request; the answer repeats its number."""
    head = struct.pack(">hhi", api.key, api.version, number) + text(CLIENT)
    return struct.pack(">i", len(head) + len(body)) + head + body


def _locate(data: bytes, at: int) -> tuple[int, int, int, int]:
    size, number = struct.unpack_from(">ii", data, at)
    end = at + 4 + size
    return number, at + HEAD_BYTES, end, end


def answer_reader() -> FrameReader:
    """A reader of answers, which are identified by the numbers of their requests."""
    return FrameReader(HEAD_BYTES, _locate)


class Fields:
    """Decodes an answer's fields one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, form: str) -> int:
        """One number, in the format of ``struct``."""
        (number,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return int(number)

    def text(self) -> str:
        """A text; null is empty."""
        return self._bytes(self.take(">h")).decode()

    def data(self) -> bytes:
        """Bytes; null is empty."""
        return self._bytes(self.take(">i"))

    def _bytes(self, size: int) -> bytes:
        begin = self._at
        self._at += max(size, 0)
        return self._data[begin : self._at]


# -- messages --------------------------------------------------------------------------------------


def produce(topic: str, batch: bytes) -> bytes:
    """A request to store a record batch."""
    partition = struct.pack(">ii", PARTITION, len(batch)) + batch
    head = struct.pack(">hhi", NO_TRANSACTION, LEADER, ANSWER_WITHIN_MS)
    return head + several([text(topic) + several([partition])])


def produced(answer: bytes) -> int:
    """The error code of a Produce answer."""
    fields = _one_partition(Fields(answer))
    return fields.take(">h")


def fetch(topic: str, offset: int, wait_ms: int = WAIT_AT_MOST_MS) -> bytes:
    """A request for the records from this offset on."""
    partition = struct.pack(">iqi", PARTITION, offset, AT_MOST_OF_A_PARTITION)
    return struct.pack(
        ">iiiib", CLIENT_NOT_REPLICA, wait_ms, AT_LEAST_BYTES, AT_MOST_BYTES, READ_UNCOMMITTED
    ) + several([text(topic) + several([partition])])


def fetched(answer: bytes) -> tuple[int, bytes]:
    """The error, and the record batches."""
    fields = Fields(answer)
    fields.take(">i")  # throttle time
    _one_partition(fields)
    error = fields.take(">h")
    fields.take(">q")  # high watermark
    fields.take(">q")  # last stable offset
    for _ in range(fields.take(">i")):  # aborted transactions
        fields.take(">q")
        fields.take(">q")
    return error, fields.data()


def _one_partition(fields: Fields) -> Fields:
    """Skip the names of the one requested topic and partition."""
    topics = fields.take(">i")
    fields.text()
    partitions = fields.take(">i")
    partition = fields.take(">i")
    if (topics, partitions, partition) != (1, 1, PARTITION):
        raise ValueError(f"an answer of {topics} topics, {partitions} partitions, not of one")
    return fields


# -- groups ----------------------------------------------------------------------------------------


def commit(group: str, topic: str, offset: int) -> bytes:
    """A commit: the group has read everything before this offset."""
    partition = struct.pack(">iq", PARTITION, offset) + text("")
    head = text(group) + struct.pack(">i", NO_GENERATION) + text("")
    retention = struct.pack(">q", BROKERS_RETENTION)
    return head + retention + several([text(topic) + several([partition])])


def committed(answer: bytes) -> int:
    return _one_partition(Fields(answer)).take(">h")


def ask_offset(group: str, topic: str) -> bytes:
    """A request for a group's offset."""
    return text(group) + several([text(topic) + several([struct.pack(">i", PARTITION)])])


def offset_of(answer: bytes) -> tuple[int, int]:
    """The error, and the committed offset or ``NO_OFFSET``."""
    fields = _one_partition(Fields(answer))
    offset = fields.take(">q")
    fields.text()
    return fields.take(">h"), offset


def first_error(answer: bytes) -> int:
    """The error at the beginning of an answer, as in that to ``FIND_COORDINATOR``."""
    return Fields(answer).take(">h")


def delete_groups(groups: Sequence[str]) -> bytes:
    """A request to delete the groups' offsets."""
    return several([text(group) for group in groups])


# -- topics ----------------------------------------------------------------------------------------


def create_topic(topic: str, settings: dict[str, str]) -> bytes:
    """A topic of one partition."""
    configs = several([text(name) + text(value) for name, value in settings.items()])
    head = text(topic) + struct.pack(">ih", 1, ONE_REPLICA)
    no_assignments = several([])
    ending = struct.pack(">i?", ANSWER_WITHIN_MS, False)
    return several([head + no_assignments + configs]) + ending


def delete_topic(topic: str) -> bytes:
    """A request to delete a topic with its messages."""
    return several([text(topic)]) + struct.pack(">i", ANSWER_WITHIN_MS)


def errors_by_name(answer: bytes) -> list[int]:
    """The errors of deleted topics or groups, or of a created topic."""
    fields = Fields(answer)
    fields.take(">i")  # throttle time
    errors = []
    for _ in range(fields.take(">i")):
        fields.text()
        errors.append(fields.take(">h"))
    return errors
