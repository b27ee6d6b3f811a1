from __future__ import annotations

from collections.abc import Iterator

import pytest

import penstock
from penstock import PublishLimits, blocking

DEADLINE_S = 20.0


@pytest.fixture
def client(url: str) -> Iterator[blocking.Client]:
    with penstock.blocking.connect(url, deadline_s=DEADLINE_S) as connected:
        yield connected


def test_trying_keeps_the_order_of_what_was_sent(client: blocking.Client) -> None:
    with client.publisher(pubend="a.1") as publisher:
        publisher.send({"n": 0})
        publication = publisher.try_publish({"n": 1})
        assert publication is not None
        assert publication.receipt(deadline_s=DEADLINE_S).sequence == 1
        assert publisher.unconfirmed_bytes == 0


def test_trying_gives_none_when_there_is_no_room(client: blocking.Client) -> None:
    with client.publisher(limits=PublishLimits(window_bytes=1)) as publisher:
        taken = [publisher.try_publish({"n": n}) for n in range(50)]
        assert taken[0] is not None
        assert None in taken


def test_flushing_gives_the_receipts(client: blocking.Client) -> None:
    with client.publisher(pubend="a.2") as publisher:
        for n in range(3):
            publisher.send({"n": n})
        assert sum(receipt.count for receipt in publisher.flush()) <= 3
    with pytest.raises(penstock.Disconnected, match="was closed"):
        publisher.try_publish({})
    assert publisher.closed


def test_closing_the_client_empties_the_senders_of_all_services(url: str) -> None:
    with penstock.blocking.connect(url, deadline_s=DEADLINE_S) as client:
        sender = client.groups.sender("g")
        for n in range(100):
            sender.send({"n": n})
    assert sender.closed
