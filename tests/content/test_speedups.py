"""The compiled parts give what the Python beside them gives."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from penstock.client.producer import Producer
from penstock.client.publish_limits import PublishLimits
from penstock.content.batch import Batch
from penstock.content.block import CHECKSUM, MalformedBlock
from penstock.content.columns import InvalidAttribute
from penstock.content.row_buffer import PlainRowBuffer, new_row_buffer
from penstock.content.speedups import COMPILED, CompiledRowBuffer, UnusualRow, extent

compiled = pytest.mark.skipif(
    not COMPILED, reason="penstock-speedups is not installed: there was no C compiler"
)

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
    buffer = CompiledRowBuffer()
    for attributes, payload in rows:
        buffer.append(attributes, payload)
    assert len(buffer) == len(rows)
    assert buffer.block() == Batch.from_rows(rows).encode()


@compiled
@given(rows=ROWS, at=st.integers(0, 40), odd=st.sampled_from(UNUSUAL))
@settings(deadline=None)
def test_a_row_that_is_not_taken_leaves_no_trace(
    rows: list[tuple[dict[str, Any], bytes]], at: int, odd: dict[Any, Any]
) -> None:
    buffer = CompiledRowBuffer()
    for number, (attributes, payload) in enumerate(rows):
        if number == at:
            with pytest.raises(UnusualRow):
                buffer.append({**attributes, "first": "only here", **odd}, payload)
        buffer.append(attributes, payload)
    assert buffer.block() == Batch.from_rows(rows).encode()


@compiled
def test_a_row_is_the_buffers_own() -> None:
    buffer = CompiledRowBuffer()
    attributes: dict[str, Any] = {"n": 1}
    buffer.append(attributes, b"x")
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


def test_without_the_compiled_parts_rows_wait_as_they_are() -> None:
    program = (
        "import sys; sys.modules['penstock_speedups'] = None\n"
        "from penstock.content import row_buffer, speedups\n"
        "from penstock.content.batch import Batch\n"
        "assert not speedups.COMPILED\n"
        "print(type(row_buffer.new_row_buffer()).__name__)\n"
        "print(Batch.decode(Batch.from_rows([({'n': 1}, b'x')]).encode()).extent())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == [b"PlainRowBuffer", b"None"]


def test_plain_rows_are_copied() -> None:
    buffer = PlainRowBuffer()
    attributes: dict[str, Any] = {"n": 1}
    buffer.append(attributes, b"x")
    attributes["n"] = 2
    assert buffer.attributes == [{"n": 1}]
    assert len(buffer) == 1
    assert len(new_row_buffer()) == 0
