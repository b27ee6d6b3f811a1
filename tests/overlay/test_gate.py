from __future__ import annotations

import pytest
from xxhash import xxh3_64_intdigest

from penstock.content.codec.stream import encode
from penstock.content.rows.batch import Batch
from penstock.content.rows.block import CHECKSUM, MalformedBlock
from penstock.content.rows.frame import Frame
from penstock.content.selectors.parser import parse
from penstock.core.limit_check import unbounded_fields
from penstock.core.limits import LARGEST_NUMBER, LATEST_INSTANT
from penstock.core.message import Message
from penstock.overlay.gate import objection
from penstock.overlay.wire import ON_CONNECTIONS, connection_decoder, datagram_messages, vocabulary
from penstock.services.gossip.messages import GOSSIP_MESSAGES
from penstock.services.guaranteed.messages import (
    LIVE_FILTER,
    Knowledge,
    Nack,
    Publish,
    SubscriptionUpdate,
)
from penstock.services.queues.messages import Decision, Settle

EVERY_MESSAGE = (*vocabulary(*ON_CONNECTIONS), *datagram_messages(), *GOSSIP_MESSAGES)


@pytest.mark.parametrize("kind", EVERY_MESSAGE, ids=lambda kind: kind.__name__)
def test_every_field_of_every_message_has_a_limit(kind: type[Message]) -> None:
    """Declare fields with the types of penstock.core.limits."""
    assert unbounded_fields(kind) == []


def test_sums_of_legal_numbers_fit_64_bits() -> None:
    assert 2 * LARGEST_NUMBER - 1 <= LATEST_INSTANT


CANONICAL = parse("a = 1 and b > 2").text

ACCEPTED = (
    SubscriptionUpdate("pb", 1, True, (CANONICAL, parse("").text)),
    Nack("pb.1", ((0, 1), (5, 9)), LIVE_FILTER),
    Nack("pb.1", ((0, 1),), CANONICAL),
    Settle("c", 1, accepted=((1, 2),)),
)

REFUSED = {
    "SubscriptionUpdate.added is not a selector": SubscriptionUpdate("pb", 1, True, ("a =",)),
    "SubscriptionUpdate.added is not in its canonical form": SubscriptionUpdate(
        "pb", 1, True, (CANONICAL, "a=1")
    ),
    "SubscriptionUpdate.removed is not a selector": SubscriptionUpdate(
        "pb", 1, False, (), (LIVE_FILTER,)
    ),
    "Nack.filter is not a selector": Nack("pb.1", ((0, 1),), "sink/x"),
    "Nack.intervals holds the interval [5, 5), which is empty": Nack("pb.1", ((5, 5),), "*"),
    "Settle.rejected holds the interval [5, 3), which is empty": Settle("c", 1, rejected=((5, 3),)),
    "Decision.withdrawn holds the interval [1, 0), which is empty": Decision(
        "a", "b", "al", "q", (), ((1, 0),)
    ),
}


@pytest.mark.parametrize("message", ACCEPTED)
def test_honest_messages_pass(message: Message) -> None:
    assert objection(message) == ""


@pytest.mark.parametrize("problem", REFUSED)
def test_what_types_cannot_say_is_refused(problem: str) -> None:
    assert objection(REFUSED[problem]).startswith(problem)


def test_the_decoder_names_the_message_the_field_and_the_limit() -> None:
    data = b"".join(bytes(piece) for piece in encode(SubscriptionUpdate("n" * 529, 1, True, ())))
    with pytest.raises(ValueError, match=r"SubscriptionUpdate\.tree: Expected .* length <= 528"):
        connection_decoder().decode(data)


@pytest.mark.parametrize("number", [-1, 2**62, 2**63, 2**64 - 1])
def test_a_sequence_number_that_cannot_be_persisted_never_enters(number: int) -> None:
    message = Publish("p", number, Batch.from_rows([({}, b"")]))
    data = b"".join(bytes(piece) for piece in encode(message))
    with pytest.raises(ValueError, match=r"Publish\.first_sequence: Expected `int`"):
        connection_decoder().decode(data)


def test_damaged_rows_of_a_neighbour_are_found_before_a_machine_reads_them() -> None:
    """Whoever lies computes the checksum anew."""
    rows = [({"symbol": "ACME", "price": 1.5}, b"payload")] * 3
    sound = bytes(Batch.from_rows(rows).encode())
    assert objection(Knowledge("pb.1", Frame(0, 3, range(3), Batch.decode(sound)))) == ""
    refused = 0
    for at in range(len(sound)):
        damaged = bytearray(sound)
        damaged[at] ^= 0x55
        damaged[: CHECKSUM.size] = CHECKSUM.pack(xxh3_64_intdigest(damaged[CHECKSUM.size :]))
        try:
            batch = Batch.decode(bytes(damaged))
        except MalformedBlock:
            continue
        if len(batch) != len(rows):
            continue
        problem = objection(Knowledge("pb.1", Frame(0, 3, range(3), batch)))
        refused += problem.startswith("Knowledge.frame holds a malformed batch")
        if not problem:
            batch.attribute_rows()
            batch.payload_rows()
    assert refused
