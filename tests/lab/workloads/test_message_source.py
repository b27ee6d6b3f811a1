import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.codec.stream import encode
from penstock.content.rows.frame import Frame
from penstock.lab.workloads.message_source import (
    POOLED_BATCHES,
    USUAL_TICK,
    MessageSource,
    SourceSpec,
    UnreachableSize,
    fingerprint,
    identity_of,
)
from penstock.services.guaranteed.messages import Knowledge


def source(**changes: object) -> MessageSource:
    spec = {"producer": "p", "pubend": "b.1", "attributes": {"n": "cycle:0..4", "t": "a"}}
    return MessageSource(SourceSpec(**{**spec, **changes}), seed=1)  # type: ignore[arg-type]


@given(st.integers(0, 10**12))
def test_a_message_carries_its_identity(number: int) -> None:
    made = source()
    attributes, payload = made.row(number)
    assert identity_of(payload) == (made.producer_hash, number)
    assert attributes == {"n": number % 4, "t": "a"}
    assert len(payload) == 100


def test_the_same_number_gives_the_same_message() -> None:
    assert fingerprint(*source().row(5)) == fingerprint(*source().row(5))
    assert fingerprint(*source().row(5)) != fingerprint(*source().row(9))


@pytest.mark.parametrize("wire_bytes", [248, 366, 1000])
def test_a_message_has_the_specified_size_on_the_wire(wire_bytes: int) -> None:
    batch = source(wire_bytes=wire_bytes).batch(0, 1)
    frame = Frame(USUAL_TICK - 10**9, USUAL_TICK + 1, range(USUAL_TICK, USUAL_TICK + 1), batch)
    size = sum(len(piece) for piece in encode(Knowledge("b.1", frame)))
    assert abs(size - wire_bytes) <= 4


def test_a_size_that_is_too_small_is_refused() -> None:
    with pytest.raises(UnreachableSize, match="at least"):
        source(wire_bytes=40)


def test_batches_are_shared_when_messages_are_identified_by_tick() -> None:
    made = source(identity="tick", batch_rows=2)
    assert made.batch(0, 2) is made.batch(2 * POOLED_BATCHES, 2)
    assert made.attributes(1) == made.attributes(2 * POOLED_BATCHES + 1)


def test_a_foreign_payload_has_no_identity() -> None:
    assert identity_of(b"short") is None
