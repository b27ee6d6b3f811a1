"""The compiled parts give what the Python beside them gives."""

import subprocess
import sys
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.producer import Producer
from penstock.content.codec.envelope import ENVELOPE, MAX_ATTACHMENTS, plain_opened, plain_seal
from penstock.content.codec.malformed import MalformedMessage
from penstock.content.rows.batch import Batch
from penstock.content.rows.block import MalformedBlock, decode_block_plainly
from penstock.content.rows.columns import InvalidAttribute, offsets_of
from penstock.content.rows.layout import CHECKSUM
from penstock.content.rows.row_buffer import ROW_BYTES, PlainRowBuffer
from penstock.content.rows.speedups import (
    COMPILED,
    CompiledRowBuffer,
    cut,
    extent,
    opened,
    seal,
    sound_rows,
)

compiled = pytest.mark.skipif(
    not COMPILED, reason="penstock-speedups is not installed: there was no C compiler"
)

UNLIMITED = (1 << 20, 1 << 30)

NAMES = st.sampled_from(["a", "b", "topic", "größe", "z" * 300])
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.sampled_from(["", "x", "north", "süd", "\U0001f600", "x" * 300])
    | st.sampled_from([b"", b"x", b"\xff\x00"])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
)
ROWS = st.lists(
    st.tuples(st.dictionaries(NAMES, VALUES, max_size=5), st.binary(max_size=40)), max_size=40
)

UNUSUAL: list[dict[Any, Any]] = [
    {"a": object()},
    {"a": 2**63},
    {"a": -(2**63) - 1},
    {"a": "\ud800"},
    {"\ud800": 1},
    {"n" * 70_000: 1},
    {"n" * 70_000: None},
    {1: "a"},
    {"a": [1]},
]


@compiled
@given(rows=ROWS)
@example(rows=[({"n": f"value {n}", "m": n}, b"") for n in range(300)])
@example(rows=[({"n": f"value {n}"} if n % 3 else {}, bytes(n % 9)) for n in range(70_000)])
@settings(deadline=None)
def test_the_same_rows_give_the_same_bytes(rows: list[tuple[dict[str, Any], bytes]]) -> None:
    buffer = CompiledRowBuffer(*UNLIMITED)
    for attributes, payload in rows:
        assert buffer.offer(attributes, payload) == len(payload) + ROW_BYTES
    assert len(buffer) == len(rows)
    assert buffer.weight == sum(len(payload) + ROW_BYTES for _, payload in rows)
    assert buffer.block() == Batch.from_rows(rows).encode()


@compiled
@given(rows=ROWS, at=st.integers(0, 40), odd=st.sampled_from(UNUSUAL))
@settings(deadline=None)
def test_a_row_that_is_not_taken_leaves_no_trace(
    rows: list[tuple[dict[str, Any], bytes]], at: int, odd: dict[Any, Any]
) -> None:
    buffer = CompiledRowBuffer(*UNLIMITED)
    for number, (attributes, payload) in enumerate(rows):
        if number == at:
            assert not buffer.offer({**attributes, "first": "only here", **odd}, payload)
        assert buffer.offer(attributes, payload)
    assert buffer.weight == sum(len(payload) + ROW_BYTES for _, payload in rows)
    assert buffer.block() == Batch.from_rows(rows).encode()


@compiled
@given(
    sizes=st.lists(st.integers(0, 200), max_size=20),
    full_rows=st.integers(1, 10),
    full_bytes=st.integers(1, 1000),
)
def test_both_are_full_at_the_same_row(sizes: list[int], full_rows: int, full_bytes: int) -> None:
    plain, quick = (kind(full_rows, full_bytes) for kind in (PlainRowBuffer, CompiledRowBuffer))
    for size in sizes:
        assert plain.offer({"n": size}, bytes(size)) == quick.offer({"n": size}, bytes(size))
        assert (len(plain), plain.weight, plain.is_full) == (
            len(quick),
            quick.weight,
            quick.is_full,
        )


@compiled
@pytest.mark.parametrize(
    ("attributes", "payload"), [(MappingProxyType({"n": 1}), b""), ({}, bytearray(b"x"))]
)
def test_neither_takes_what_its_owner_could_change(attributes: Any, payload: Any) -> None:
    for kind in (PlainRowBuffer, CompiledRowBuffer):
        buffer = kind(*UNLIMITED)
        assert buffer.offer(attributes, payload) == 0
        assert len(buffer) == 0


@compiled
def test_a_name_that_runs_code_is_not_asked() -> None:
    class Name:
        def __hash__(self) -> int:
            attributes.update({str(number): number for number in range(100)})
            return 1

    name = Name()
    attributes: dict[Any, Any] = {"n": 1}
    attributes[name] = None
    grown = dict(attributes)
    attributes.clear()
    attributes.update(grown)
    size = len(attributes)
    buffer = CompiledRowBuffer(*UNLIMITED)
    assert buffer.offer(attributes, b"x") == 0
    assert (len(buffer), len(attributes)) == (0, size)


@compiled
def test_a_row_is_the_buffers_own() -> None:
    buffer = CompiledRowBuffer(*UNLIMITED)
    attributes: dict[str, Any] = {"n": 1}
    buffer.offer(attributes, b"x")
    attributes["n"] = 2
    assert Batch.decode(buffer.block()).attribute_rows() == [{"n": 1}]


@pytest.mark.parametrize("odd", UNUSUAL[:-2])
def test_what_no_message_can_carry_is_refused_alone(odd: dict[Any, Any]) -> None:
    producer = Producer("p", PublishLimits())
    parcels = []
    for attributes in ({"n": 1}, {"n": 2}, odd, {"n": 3}):
        parcel = producer.add(attributes, b"x")
        assert parcel is not None
        parcels.append((parcel, len(parcel.rows) - 1))
    producer.check_invariants()
    producer.close("the test is over")
    producer.check_invariants()
    outcomes = []
    for parcel, row in parcels:
        with pytest.raises(Exception) as failed:  # noqa: PT011 - the kinds are what is compared
            parcel.receipt(row)
        outcomes.append(failed.type is InvalidAttribute)
    assert outcomes == [False, False, True, False]


@given(rows=ROWS)
@settings(deadline=None)
def test_what_is_clearly_fine_is_what_reading_finds(
    rows: list[tuple[dict[str, Any], bytes]],
) -> None:
    batch = Batch.decode(Batch.from_rows(rows).encode())
    found = batch.extent()
    batch.validate()
    names = [column.name for column in batch.columns]
    if found is None:
        assert not COMPILED or len(set(names)) < len(names)
        return
    values = [value for row in batch.attribute_rows() for value in row.values()]
    texts = [v.encode() if isinstance(v, str) else v for v in values if isinstance(v, str | bytes)]
    assert found.columns == len(names)
    assert found.name_bytes == max((len(name.encode()) for name in names), default=0)
    assert found.value_bytes == max(map(len, texts), default=0)
    assert found.payload_bytes == max((len(payload) for _, payload in rows), default=0)


@compiled
@given(rows=ROWS, data=st.data())
@settings(deadline=None)
def test_damage_is_never_called_fine(
    rows: list[tuple[dict[str, Any], bytes]], data: st.DataObject
) -> None:
    """Bytes that pass here pass in Python too, whatever was done to them."""
    damaged = bytearray(Batch.from_rows(rows).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(CHECKSUM.size, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    if extent(damaged) is None:
        return
    damaged[: CHECKSUM.size] = CHECKSUM.pack(xxh3_64_intdigest(damaged[CHECKSUM.size :]))
    try:
        batch = Batch.decode(bytes(damaged))
    except MalformedBlock:
        # The header was looked at before anybody asked how far the block goes.
        return
    batch.validate()


@compiled
@given(rows=ROWS, data=st.data())
@settings(deadline=None)
def test_a_sound_header_is_one_that_python_accepts(
    rows: list[tuple[dict[str, Any], bytes]], data: st.DataObject
) -> None:
    whole = bytearray(Batch.from_rows(rows).encode())
    assert sound_rows(bytes(whole)) == len(rows)
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        whole[: CHECKSUM.size] = CHECKSUM.pack(xxh3_64_intdigest(whole[CHECKSUM.size :]))
    if data.draw(st.booleans()):
        del whole[data.draw(st.integers(0, len(whole))) :]
    try:
        expected = decode_block_plainly(bytes(whole)).rows
    except MalformedBlock:
        expected = -1
    assert sound_rows(bytes(whole)) == expected


HEADS = st.binary(max_size=60)
ATTACHMENTS = st.lists(st.binary(max_size=40), max_size=4)


@compiled
@given(head=HEADS, attachments=ATTACHMENTS)
@example(head=b"", attachments=[b""] * MAX_ATTACHMENTS)
def test_an_envelope_is_the_same_bytes(head: bytes, attachments: list[bytes]) -> None:
    pieces = seal(head, list(attachments))
    assert pieces is not None
    assert b"".join(pieces) == b"".join(plain_seal(head, list(attachments)))


@compiled
@given(head=HEADS, attachments=ATTACHMENTS, data=st.data())
def test_an_envelope_is_taken_off_as_in_python_or_left_to_it(
    head: bytes, attachments: list[bytes], data: st.DataObject
) -> None:
    whole = bytearray(b"".join(plain_seal(head, list(attachments))))
    assert opened(memoryview(bytes(whole))) == (head, attachments)
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del whole[data.draw(st.integers(0, len(whole))) :]
    if data.draw(st.booleans()) and len(whole) >= ENVELOPE.size:
        # Somebody who means harm can compute a checksum too; it is over less than this mostly.
        preamble = bytes(whole[:16])
        whole[16:24] = xxh3_64_intdigest(preamble + bytes(whole[24:])).to_bytes(8, "little")
    try:
        expected = plain_opened(bytes(whole))
    except MalformedMessage:
        expected = None
    assert opened(bytes(whole)) == expected


@compiled
def test_more_attachments_than_an_envelope_counts_are_left_to_python() -> None:
    assert seal(b"head", [b""] * (MAX_ATTACHMENTS + 1)) is None


def test_without_the_compiled_parts_rows_wait_as_they_are() -> None:
    program = (
        "import sys; sys.modules['penstock_speedups'] = None\n"
        "from penstock.content.rows import row_buffer, speedups\n"
        "from penstock.content.rows.batch import Batch\n"
        "assert not speedups.COMPILED\n"
        "print(type(row_buffer.new_row_buffer(1, 1)).__name__)\n"
        "batch = Batch.decode(Batch.from_rows([({'n': 1}, b'x'), ({}, b'yz')]).encode())\n"
        "print(batch.extent(), *batch.payload_rows())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == [b"PlainRowBuffer", b"None", b"b'x'", b"b'yz'"]


def test_plain_rows_are_copied() -> None:
    buffer = PlainRowBuffer(*UNLIMITED)
    attributes: dict[str, Any] = {"n": 1}
    buffer.offer(attributes, b"x")
    attributes["n"] = 2
    assert buffer.attributes == [{"n": 1}]


@compiled
@given(pieces=st.lists(st.binary(max_size=20), max_size=30))
def test_bytes_are_cut_where_they_were_joined(pieces: list[bytes]) -> None:
    assert cut(b"".join(pieces), offsets_of(pieces)) == pieces


@compiled
@pytest.mark.parametrize("offsets", [[], [0, 5], [3, 2], [5, 6]])
def test_bytes_are_not_cut_beyond_their_end(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offset"):
        cut(b"four", np.array(offsets, "<u4"))
