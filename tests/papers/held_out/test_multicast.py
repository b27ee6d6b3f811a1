"""A receiving broker adds to a message what the optimum takes for it."""

from __future__ import annotations

import msgspec

from penstock.content.codec.size import encoded_size
from penstock.content.rows.batch import Batch
from penstock.lab.workloads.message_source import USUAL_TICK
from penstock.lab.workloads.multicast.messages import USUAL_NUMBER
from penstock.papers.held_out.multicast import DESTINATION_BYTES
from penstock.services.multicast.messages import Destination, Multicast


def test_the_size_of_a_destination() -> None:
    one = Destination("b1", 1 << 31, USUAL_NUMBER, USUAL_NUMBER)
    batch = Batch.from_rows([({}, b"text")])
    message = Multicast("b1", USUAL_TICK, "m0", USUAL_NUMBER, ("g0",), (one,), 0.5, (), 2, batch)
    more = msgspec.structs.replace(message, destinations=(one,) * 5)
    assert encoded_size(more) - encoded_size(message) == 4 * DESTINATION_BYTES
