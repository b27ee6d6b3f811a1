"""What is measured from the history of senders and members."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.lab.oracle.multicast.clients import MemberHistory, Outcome, SenderHistory
from penstock.lab.oracle.multicast.history import MulticastHistory
from penstock.lab.workloads.multicast.messages import GroupMessages
from penstock.lab.workloads.multicast.service import METRICS
from penstock.lab.workloads.multicast.tables import GroupSender


@pytest.fixture
def history() -> MulticastHistory:
    """Four messages: confirmed, refused, uncertain, pending; the first one is received."""
    table = GroupSender(service="multicast", name="s", broker="a", groups=("g",))
    history = MulticastHistory()
    sender = history.add_sender(SenderHistory("s", ("g",), GroupMessages(table, 1)))
    member = history.add_member(MemberHistory("m", "g"))
    member.joined(0)
    for number in range(4):
        assert sender.submitted((number + 1) * SECOND) == number
    sender.confirmed(0, SECOND // 2, 6 * SECOND)
    sender.failed(1, Outcome.REFUSED, "no", 7 * SECOND)
    sender.failed(2, Outcome.UNCERTAIN, "?", 8 * SECOND)
    member.received(*sender.source.row(0), 5 * SECOND)
    return history


def test_every_outcome_is_counted_at_its_time(history: MulticastHistory) -> None:
    found = {
        metric: [each / SECOND for each in history.events(metric)["s"].at.tolist()]
        for metric in ("submitted", "sent", "confirmed", "refused", "uncertain", "unsettled")
    }
    assert found == {
        "submitted": [1, 2, 3, 4],
        "sent": [1.5],
        "confirmed": [6],
        "refused": [7],
        "uncertain": [8],
        "unsettled": [4],
    }
    assert history.pending == 1


def test_a_message_cannot_be_sent_after_its_receipt(history: MulticastHistory) -> None:
    sender = history.senders["s"]
    sender.confirmed(3, 60 * SECOND, 9 * SECOND)
    assert sender.sent_at[3] == 9 * SECOND


def test_deliveries_and_their_delay(history: MulticastHistory) -> None:
    assert history.delivered == 1
    assert history.events("delivered")["m"].at.tolist() == [5 * SECOND]
    delays = history.events("delay_s")["m"]
    assert (delays.at.tolist(), delays.values.tolist()) == ([5 * SECOND], [4.0])
    history.members["m"].received({}, b"of nobody", 6 * SECOND)
    assert len(history.events("delay_s")["m"].at) == 1


def test_every_metric_that_is_no_rule_has_events(history: MulticastHistory) -> None:
    for name, metric in METRICS.items():
        if metric.kind != "rule":
            assert history.events(name)
    with pytest.raises(KeyError):
        history.events("lost")


def test_totals_of_every_client(history: MulticastHistory) -> None:
    totals = {(client, metric): count for client, metric, count in history.totals()}
    assert totals["s", "submitted"] == 4
    assert totals["s", "confirmed"] == totals["s", "unsettled"] == 1
    assert totals["m", "delivered"] == 1
