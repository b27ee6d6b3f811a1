"""The pubends of a broker: their deadlines, their publishers, and who hears of a limit."""

from __future__ import annotations

from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.machine import Effect, Persist, Send, Trace
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.laws.rate_law import AlertReading
from penstock.services.guaranteed.messages import (
    Acknowledgement,
    ClaimsSaved,
    DurableClaim,
    OpenProducer,
    Publish,
    PublishRefused,
    ThrottleNotice,
    UpstreamCongestionAlert,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.source.hosted_pubends import HostedPubends

START = 100 * SECOND
ROWS = Batch.from_rows([({}, b"")])


def hosted(**parameters: int) -> HostedPubends:
    made = HostedPubends(
        "b",
        ("p", "q"),
        GuaranteedParameters(**parameters),  # type: ignore[arg-type]
        Tokens(),
        saved={},
        logs={},
        now=START,
    )
    made.start()
    return made


def opened(made: HostedPubends, session: str, pubend: str) -> None:
    made.handlers[OpenProducer](session, OpenProducer(session, pubend), START, [])


def test_a_publication_goes_to_the_pubend_of_its_producer() -> None:
    made, out = hosted(), list[Effect]()
    opened(made, "carol", "q")
    made.publish("carol", Publish("carol", 0, ROWS), START, out)

    (order,) = out
    assert isinstance(order, Persist)
    pubend = made.by_log[order.log]
    assert pubend is made.by_name["q"]
    assert [len(frame) for frame in made.resolved(pubend, order.token, None, START, out)] == [1]


def test_a_producer_that_is_not_open_is_refused() -> None:
    made, out = hosted(), list[Effect]()
    made.publish("carol", Publish("carol", 0, ROWS), START, out)

    (refusal,) = out
    assert isinstance(refusal, Send)
    assert isinstance(refusal.message, PublishRefused)


def test_the_pubends_of_a_broker_are_due_one_after_another() -> None:
    made = hosted()

    assert [pubend.name for pubend in made.due(START)] == ["p"]
    assert made.next_deadline() == START + SECOND // 2
    assert [pubend.name for pubend in made.due(START + SECOND // 2)] == ["q"]


def test_only_the_publishers_of_a_pubend_hear_of_its_limit() -> None:
    made, out = hosted(), list[Effect]()
    opened(made, "carol", "p")
    opened(made, "dave", "q")
    for tick in range(START, START + SECOND, 100 * MILLISECOND):
        made.by_name["p"].control.published(tick, 10, 1000, tick)
    slow = AlertReading(0.5, "sb", 0.5, START + SECOND, "ib->sb", 1000)
    made.alert(UpstreamCongestionAlert("p", START, 0, slow, None), START + SECOND // 2, out)
    assert out == []
    made.alert(UpstreamCongestionAlert("p", START, 1, slow, None), START + SECOND, out)

    told, traced = out
    assert isinstance(told, Send)
    assert (told.link, type(told.message)) == ("carol", ThrottleNotice)
    assert isinstance(traced, Trace)
    assert traced.record.metric == "throttle"


def test_an_alert_about_a_pubend_that_is_not_hosted_is_ignored() -> None:
    made, out = hosted(), list[Effect]()
    made.alert(UpstreamCongestionAlert("r", START, 0, None, None), START, out)

    assert out == []


def test_a_claim_is_answered_when_it_is_saved() -> None:
    made, out = hosted(), list[Effect]()
    claim = {"p": DurableClaim(START, "cursor 'c'")}
    statement = Acknowledgement("b", "sb", 1, 1, {}, claim, confirm=True)

    assert made.acknowledged(statement, START, out) is None
    (order,) = out
    token = order.token  # type: ignore[attr-defined]
    assert made.claims_saved(token, None) == [ClaimsSaved("b", "sb", 1, 1)]
