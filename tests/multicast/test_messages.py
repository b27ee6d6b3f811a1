"""What the messages take on the wire, and that they survive it."""

from __future__ import annotations

from penstock.content.batch import Batch
from penstock.content.wire import encode, encoded_size
from penstock.multicast.messages import Destination, Multicast, PriceRecord, Prices
from penstock.multicast.route import link_number
from penstock.overlay.wire import connection_decoder


def test_a_price_takes_at_most_64_bytes_whatever_the_names_are() -> None:
    number = link_number("a" * 64, "b" * 64)
    record = PriceRecord(number, 2**40, 123.456)
    assert encoded_size(Prices((record,))) <= 64
    assert encoded_size(Prices((record, record))) < 2 * 64, "two travel together for less"


def test_messages_survive_the_wire() -> None:
    message = Multicast(
        "a",
        1,
        "s",
        7,
        ("g", "h"),
        (Destination("b", 5, 6, 4), Destination("c", 5, 9, 4)),
        0.5,
        link_number("a", "b"),
        3,
        1,
        Batch.from_rows([({"n": 1}, b"payload")]),
    )
    decoded = connection_decoder().decode(b"".join(bytes(piece) for piece in encode(message)))
    assert isinstance(decoded, Multicast)
    assert decoded.destinations == message.destinations
    assert decoded.batch.has_same_rows(message.batch)
