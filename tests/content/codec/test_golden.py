"""The bytes of both profiles are those of ``golden.txt``.

Brokers and clients of different versions speak with each other, and logs are read years later: a
change of these bytes needs another version number, not another golden file.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from penstock.content.codec.datagram import DatagramDecoder, datagram_of, encode_message
from penstock.content.codec.envelope import plain_seal, seal
from penstock.content.codec.stream import Decoder, encode_joined
from penstock.content.rows.batch import Batch
from penstock.core.message import Message


def golden() -> dict[str, bytes]:
    found: dict[str, str] = {}
    name = ""
    for line in (Path(__file__).parent / "golden.txt").read_text().splitlines():
        if line.endswith(":"):
            name = line[:-1]
            found[name] = ""
        elif line.startswith(" "):
            found[name] += line.strip()
    return {name: bytes.fromhex(text) for name, text in found.items()}


def test_a_block_has_the_golden_bytes(batch: Batch) -> None:
    assert bytes(batch.encode()) == golden()["block"]


def test_messages_of_the_stream_profile_have_the_golden_bytes(
    specimens: dict[str, Message],
) -> None:
    expected = golden()
    encoded = {f"stream, {name}": encode_joined(each) for name, each in specimens.items()}
    assert encoded == {name: expected[name] for name in expected if name.startswith("stream")}


def test_golden_streams_are_read(kinds: SimpleNamespace, specimens: dict[str, Message]) -> None:
    decoder: Decoder[Message] = Decoder(kinds.every)
    expected = golden()
    for name, specimen in specimens.items():
        decoded = decoder.decode(expected[f"stream, {name}"])
        assert encode_joined(decoded) == encode_joined(specimen)


def test_datagrams_have_the_golden_bytes_and_are_read(kinds: SimpleNamespace) -> None:
    notes = [kinds.Note("hello", 7), kinds.Note("", -1)]
    data = golden()["datagram, two messages"]
    assert datagram_of([encode_message(each) for each in notes]) == data
    assert DatagramDecoder(kinds.every[:1]).decode(data) == notes
    assert datagram_of([]) == golden()["datagram, no message"]


def test_both_ways_to_seal_give_the_same_bytes(batch: Batch) -> None:
    block = batch.encode()
    assert b"".join(seal(b"head", [block, b"x"])) == b"".join(plain_seal(b"head", [block, b"x"]))
