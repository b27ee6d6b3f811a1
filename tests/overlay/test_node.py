"""The broker: flooding, settling, and handing facts to the right service."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.core.machine import (
    DeadlineReached,
    Effect,
    Fact,
    LinkDown,
    LinkUp,
    Persist,
    Persisted,
    PersistFailed,
    Priority,
    QueuesMeasured,
    Received,
    Send,
    SessionClosed,
    SessionOpened,
    Trace,
)
from penstock.overlay.messages import LinkState
from penstock.overlay.node import SETTLE_WITHIN, BrokerNode, node_config
from penstock.services.guaranteed.messages import (
    OpenProducer,
    ProducerOpened,
    Subscribe,
    Subscribed,
)

START = 50 * SECOND


def node(name: str = "a", *neighbours: str, pubends: tuple[str, ...] = ()) -> BrokerNode:
    config = node_config(name, dict.fromkeys(neighbours, 2), pubends=pubends)
    return BrokerNode(config, saved={}, logs={}, now=START)


def sent(effects: list[Effect], kind: type) -> list[tuple[str, object]]:
    return [
        (effect.link, effect.message)
        for effect in effects
        if isinstance(effect, Send) and isinstance(effect.message, kind)
    ]


def account(broker: str, *neighbours: str, sequence: int = 1) -> LinkState:
    return LinkState(broker, 7, sequence, dict.fromkeys(neighbours, 2), ())


# -- link state -----------------------------------------------------------------------------


def test_a_new_neighbour_is_told_everything_that_is_known() -> None:
    broker = node("a", "b", "c")
    broker.start(now=START)
    broker.handle(LinkUp("b"), now=START)
    broker.handle(Received("b", account("far", "b")), now=START)
    told = sent(broker.handle(LinkUp("c"), now=START), LinkState)

    to_c = {message.broker for link, message in told if link == "c"}  # type: ignore[attr-defined]
    assert to_c == {"a", "far"}


def test_a_broker_describes_itself_anew_when_a_link_comes_or_goes() -> None:
    broker = node("a", "b", "c", pubends=("p",))
    broker.start(now=START)
    broker.handle(LinkUp("b"), now=START)
    up = sent(broker.handle(LinkUp("c"), now=START), LinkState)
    down = sent(broker.handle(LinkDown("c"), now=START), LinkState)

    assert ("b", LinkState("a", START, 3, {"b": 2, "c": 2}, ("p",))) in up
    assert down == [("b", LinkState("a", START, 4, {"b": 2}, ("p",)))]


def test_news_is_flooded_to_everybody_but_whom_it_came_from_and_only_once() -> None:
    broker = node("a", "b", "c", "d")
    for link in ("b", "c", "d"):
        broker.handle(LinkUp(link), now=START)
    news = Received("c", account("far", "c"))

    first = broker.handle(news, now=START)
    assert sorted(link for link, _ in sent(first, LinkState)) == ["b", "d"]
    assert all(e.priority is Priority.CONTROL for e in first if isinstance(e, Send))
    assert broker.handle(news, now=START) == []
    assert broker.handle(Received("b", account("far", "c", sequence=0)), now=START) == []


def test_nobody_else_tells_a_broker_about_itself() -> None:
    broker = node("a", "b")
    broker.handle(LinkUp("b"), now=START)

    assert broker.handle(Received("b", account("a", "b", "x", sequence=99)), now=START) == []


# -- settling -------------------------------------------------------------------------------


def subscribe(broker: BrokerNode, now: int = START) -> list[Effect]:
    return broker.handle(Received("client", Subscribe("s", "TRUE")), now=now)


def test_a_broker_without_neighbours_settles_at_once() -> None:
    broker = node()
    broker.start(now=START)

    assert sent(subscribe(broker), Subscribed)


def test_a_broker_settles_when_every_neighbour_was_heard_to_be_linked_to_it() -> None:
    broker = node("a", "b", "c")
    broker.start(now=START)
    subscribe(broker)
    for link in ("b", "c"):
        assert not sent(broker.handle(LinkUp(link), now=START), Subscribed)
    assert not sent(broker.handle(Received("b", account("b", "a")), now=START), Subscribed)
    not_yet = account("c")
    assert not sent(broker.handle(Received("c", not_yet), now=START), Subscribed)

    heard = Received("c", account("c", "a", sequence=2))
    assert sent(broker.handle(heard, now=START), Subscribed)


def test_a_broker_goes_on_without_a_neighbour_that_does_not_come() -> None:
    broker = node("a", "b")
    broker.start(now=START)
    subscribe(broker)
    end = START + SETTLE_WITHIN

    assert not sent(broker.handle(DeadlineReached(), now=end - 1), Subscribed)
    assert sent(broker.handle(DeadlineReached(), now=end), Subscribed)


# -- facts ----------------------------------------------------------------------------------


def test_messages_and_the_words_of_the_store_reach_their_service() -> None:
    broker = node("a", pubends=("p",))
    broker.start(now=START)
    opened = broker.handle(Received("client", OpenProducer("x")), now=START)
    assert sent(opened, ProducerOpened) == [("client", ProducerOpened("x", "p", 0))]

    silence = broker.handle(DeadlineReached(), now=START + SECOND)
    (persist,) = [effect for effect in silence if isinstance(effect, Persist)]
    broker.handle(Persisted(persist.token), now=START + SECOND)
    assert broker.services["guaranteed"].pubends["p"].spoken_end == START + SECOND
    broker.check_invariants()


def test_a_refused_order_reaches_its_service_with_the_reason() -> None:
    broker = node("a", pubends=("p",))
    broker.start(now=START)
    silence = broker.handle(DeadlineReached(), now=START + SECOND)
    (persist,) = [effect for effect in silence if isinstance(effect, Persist)]
    broker.handle(PersistFailed(persist.token, "full"), now=START + SECOND)

    assert broker.services["guaranteed"].pubends["p"].spoken_end == START


def test_a_broker_measures_itself_at_every_interval() -> None:
    broker = node("a", pubends=("p",))
    broker.start(now=START)

    def traced(now: int) -> bool:
        effects = broker.handle(DeadlineReached(), now=now)
        return any(isinstance(effect, Trace) for effect in effects)

    assert traced(START)
    assert not traced(START + SECOND - 1)
    assert traced(START + SECOND)


def test_a_broker_that_is_told_not_to_measure_does_not() -> None:
    config = node_config("a", pubends=("p",), trace_interval_ns=0)
    broker = BrokerNode(config, saved={}, logs={}, now=START)

    effects = broker.handle(DeadlineReached(), now=START + 5 * SECOND)
    assert not [effect for effect in effects if isinstance(effect, Trace)]


def test_the_next_deadline_is_the_earliest_of_all() -> None:
    broker = node("a", "b")
    broker.start(now=START)
    assert broker.next_deadline() == START

    broker.handle(DeadlineReached(), now=START)
    assert broker.next_deadline() == START + SECOND


@pytest.mark.parametrize(
    "fact", [SessionOpened("client"), SessionClosed("client"), QueuesMeasured({"b": 7})]
)
def test_facts_that_change_nothing_are_taken_in(fact: Fact) -> None:
    broker = node("a", "b")
    broker.start(now=START)

    assert broker.handle(fact, now=START) == []


def test_an_unknown_fact_is_an_error_that_names_it() -> None:
    class Surprise(Fact, frozen=True):
        pass

    with pytest.raises(TypeError, match="does not understand Surprise"):
        node().handle(Surprise(), now=START)


def test_another_broker_of_the_same_name_is_a_problem_and_an_earlier_run_is_none() -> None:
    broker = node("a", "b")
    broker.start(now=START)
    broker.handle(LinkUp("b"), now=START)
    broker.handle(Received("b", LinkState("a", START - 1, 9, {"b": 2}, ())), now=START)
    assert broker.problems(START) == []

    broker.handle(Received("b", LinkState("a", START + 1, 1, {"c": 2}, ())), now=START + 2)
    (problem,) = broker.problems(START + 2)
    assert "another broker called 'a' is in the overlay" in problem
