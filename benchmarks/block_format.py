"""Our block against Arrow's IPC format: size, encoding and decoding.

Run with ``python -m benchmarks.block_format``.  The messages have two attributes (a string of eight
distinct values, a float) and 100 bytes of payload, one at a time and 512 at a time.  The figures
are in docs/decisions/0002-columnar-block.md.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import pyarrow as pa

from penstock.content.rows.batch import Batch, Row

Action: TypeAlias = Callable[[], object]

PAYLOAD_BYTES = 100
DISTINCT_TOPICS = 8
REPEATS = 7
"""The figure is the minimum of this many repetitions: the rest is noise of the machine."""

PLAIN = pa.schema([("price", pa.float64()), ("topic", pa.string()), ("payload", pa.binary())])
CODED = pa.schema(
    [
        ("price", pa.float64()),
        ("topic", pa.dictionary(pa.int8(), pa.string())),
        ("payload", pa.binary()),
    ]
)


def rows_of(count: int) -> list[Row]:
    """Messages as a client publishes them."""
    payload = bytes(PAYLOAD_BYTES)
    return [
        ({"topic": f"topic-{row % DISTINCT_TOPICS}", "price": row * 0.25}, payload)
        for row in range(count)
    ]


def arrow_columns(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    """The same messages as an Arrow record batch, with types inferred from the values as ours."""
    topics = pa.array([attributes["topic"] for attributes, _ in rows])
    if schema is CODED:
        topics = topics.dictionary_encode().cast(schema.field("topic").type)
    prices = pa.array([attributes["price"] for attributes, _ in rows])
    payloads = pa.array([payload for _, payload in rows])
    return pa.RecordBatch.from_arrays([prices, topics, payloads], schema=schema)


def write_stream(batch: pa.RecordBatch) -> pa.Buffer:
    """Schema, dictionaries, rows, end: the parts of a self-contained message."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def stream_from_rows(rows: Sequence[Row], schema: pa.Schema) -> pa.Buffer:
    """The complete work of a publisher."""
    return write_stream(arrow_columns(rows, schema))


def read_stream(data: pa.Buffer) -> pa.RecordBatch:
    """The columns as views."""
    return pa.ipc.open_stream(data).read_next_batch()


def read_stream_checked(data: pa.Buffer) -> pa.RecordBatch:
    """The same for bytes that may be hostile; a block is always checked."""
    batch = read_stream(data)
    batch.validate(full=True)
    return batch


def read_message(data: pa.Buffer) -> pa.RecordBatch:
    """A message without its schema, which both ends must have agreed on in advance."""
    return pa.ipc.read_record_batch(data, PLAIN)


def read_message_checked(data: pa.Buffer) -> pa.RecordBatch:
    """The same for bytes that may be hostile."""
    batch = read_message(data)
    batch.validate(full=True)
    return batch


def read_block(data: bytes) -> Batch:
    """Check the checksum, all columns and the payload offsets."""
    batch = Batch.decode(data)
    batch.validate()
    return batch


def encode_block_anew(batch: Batch) -> bytes:
    """Encode a copy of the batch, because a batch caches its bytes."""
    return bytes(Batch(len(batch), columns=batch.columns, payloads=batch.payloads).encode())


def microseconds(action: Action, rows: int) -> float:
    """The time of one call; fewer calls for larger batches."""
    calls = 400 if rows > 1 else 4000
    return min(timeit.repeat(action, number=calls, repeat=REPEATS)) / calls * 1e6


def line(name: str, size: int, rows: int, actions: Sequence[Action | None]) -> str:
    """One row of the table; None for a step that another row has already or that does not apply."""
    cells = ["–" if each is None else f"{microseconds(each, rows):.1f}" for each in actions]
    return f"{name:42}{size:9}{size / rows:11.0f}" + "".join(f"{cell:>12}" for cell in cells)


def compare_block(rows: list[Row]) -> None:
    """The lines of our own format."""
    batch = Batch.from_rows(rows)
    block = bytes(batch.encode())
    size, count = len(block), len(rows)
    steps: list[Action] = [
        lambda: Batch.from_rows(rows).encode(),
        partial(encode_block_anew, batch),
        partial(read_block, block),
    ]
    print(line("block, checked", size, count, steps))
    relay = partial(Batch.decode, block)
    print(line("block, only its checksum (a relay)", size, count, [None, None, relay]))


def compare_arrow(rows: list[Row]) -> None:
    """The lines of Arrow: self-contained streams, and a message whose schema is known."""
    count = len(rows)
    for name, schema in (("plain", PLAIN), ("dictionary", CODED)):
        columns = arrow_columns(rows, schema)
        stream = write_stream(columns)
        size = stream.size
        steps: list[Action] = [
            partial(stream_from_rows, rows, schema),
            partial(write_stream, columns),
            partial(read_stream_checked, stream),
        ]
        print(line(f"Arrow stream, {name}, checked", size, count, steps))
        unchecked = partial(read_stream, stream)
        print(line(f"Arrow stream, {name}, unchecked", size, count, [None, None, unchecked]))
    columns = arrow_columns(rows, PLAIN)
    message = columns.serialize()
    steps = [
        lambda: arrow_columns(rows, PLAIN).serialize(),
        columns.serialize,
        partial(read_message_checked, message),
    ]
    print(line("Arrow message, schema known, checked", message.size, count, steps))
    unchecked = partial(read_message, message)
    print(
        line("Arrow message, schema known, unchecked", message.size, count, [None, None, unchecked])
    )


def main() -> None:
    """Print sizes, and the microseconds of each step."""
    print("microseconds: rows to bytes, columns to bytes, bytes to columns")
    header = f"{'format':42}{'bytes':>9}{'bytes/row':>11}"
    header += f"{'from rows':>12}{'encode':>12}{'decode':>12}"
    for count in (1, 512):
        rows = rows_of(count)
        print(f"\n{count} row{'s' if count > 1 else ''}\n{header}")
        compare_block(rows)
        compare_arrow(rows)


if __name__ == "__main__":
    main()
