"""All streams of one source at one broker: parents, children, and what they are told."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.machine import Effect, Priority, Send
from penstock.core.trees import Tree
from penstock.services.guaranteed.laws.answer_round_trips import AnswerOrigin
from penstock.services.guaranteed.laws.rate_law import AlertReading
from penstock.services.guaranteed.messages import (
    LIVE_FILTER,
    Knowledge,
    Nack,
    SubscriptionConfirmed,
    SubscriptionUpdate,
    UpstreamCongestionAlert,
    Withdrawal,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.relay.tree_relay import TreeRelay

TREE = Tree("pb", "pb", "up", ("a", "b"), 1, ("p",))
ELSEWHERE = Tree("pb", "pb", "other", ("a", "b"), 1, ("p",))


def frame(low: int, high: int, *ticks: int) -> Frame:
    rows = Batch.from_rows([({"tick": tick}, b"") for tick in ticks])
    return Frame(low, high, np.array(ticks, dtype="<i8"), rows)


def wanting(version: int, *added: str, full: bool = False) -> SubscriptionUpdate:
    return SubscriptionUpdate("pb", version, full, added)


def word(version: int, tick: int = 100) -> SubscriptionConfirmed:
    return SubscriptionConfirmed("pb", version, {"p": tick}, {"p": 7})


def control(link: str, message: object) -> Send:
    return Send(link, message, Priority.CONTROL)


def relay() -> TreeRelay:
    """A relay whose parent knows that nothing is wanted."""
    made = TreeRelay("ib", TREE, GuaranteedParameters(), {})
    out: list[Effect] = []
    assert made.tree_changed(TREE, out)
    assert out == [control("up", wanting(1, full=True))]
    return made


def confirmed(link: str = "a") -> TreeRelay:
    """One with a child in force."""
    made = relay()
    made.update(link, wanting(1, "TRUE"), [])
    made.confirmed(word(2), [])
    return made


def test_a_wish_goes_up_and_its_confirmation_comes_down() -> None:
    made, out = relay(), list[Effect]()
    made.update("a", wanting(5, "TRUE"), out)
    assert out == [control("up", wanting(2, "TRUE"))]

    out.clear()
    made.confirmed(word(2), out)
    assert out == [control("a", word(5))]


def test_the_same_place_in_the_tree_is_no_change() -> None:
    out: list[Effect] = []

    assert not relay().tree_changed(TREE, out)
    assert out == []


def test_another_parent_is_told_everything_and_the_old_one_that_it_is_over() -> None:
    made, out = confirmed(), list[Effect]()

    assert made.tree_changed(ELSEWHERE, out)
    assert out == [
        control("up", Withdrawal("pb")),
        control("other", wanting(3, "TRUE", full=True)),
    ]


def test_a_restarted_source_is_told_everything() -> None:
    made, out = confirmed(), list[Effect]()

    assert made.tree_changed(Tree("pb", "pb", "up", ("a",), 2, ("p",)), out)
    assert out == [control("up", wanting(3, "TRUE", full=True))]


def test_a_parent_that_was_away_is_told_everything_once() -> None:
    made, out = confirmed(), list[Effect]()
    made.link_lost("up", out)
    made.update("b", wanting(1, "TRUE"), [])
    assert out == []

    made.link_restored("up", out)
    made.link_restored("up", out)
    assert out == [control("up", wanting(3, "TRUE", full=True))]


def test_what_a_lost_child_wanted_is_given_up() -> None:
    made, out = confirmed(), list[Effect]()
    made.link_lost("a", out)

    assert out == [control("up", SubscriptionUpdate("pb", 3, False, (), ("TRUE",)))]


def test_a_child_that_goes_elsewhere_gets_nothing_any_more() -> None:
    made, out = confirmed(), list[Effect]()
    made.withdrawal("a", [])
    made.knowledge(Knowledge("p", frame(100, 110, 105)), 0, out)

    assert out == []


def test_a_full_update_waits_for_its_confirmation_before_data_flows() -> None:
    made, out = confirmed(), list[Effect]()
    made.update("a", wanting(1, "tick > 5", full=True), [])
    made.knowledge(Knowledge("p", frame(100, 110, 105)), 0, out)

    assert out == []


def test_without_a_way_to_the_source_nothing_is_sent_up() -> None:
    made, out = confirmed(), list[Effect]()
    made.lost_source()
    made.update("b", wanting(1, "tick > 5"), out)
    made.request("a", Nack("p", ((0, 10),), LIVE_FILTER), 0, out)

    assert [effect for effect in out if isinstance(effect, Send) and effect.link == "up"] == []


def test_requests_go_to_the_parent() -> None:
    made, out = confirmed(), list[Effect]()
    made.request("a", Nack("p", ((0, 10),), LIVE_FILTER), 0, out)

    assert out == [control("up", Nack("p", ((0, 10),), "TRUE"))]


@pytest.mark.parametrize(
    ("request_of", "flow"),
    [
        ({}, "p/past"),
        ({"joins": True}, "p/joining"),
        ({"recovers": True}, "p/answers"),
    ],
)
def test_an_answer_goes_to_the_child_that_asked_in_the_flow_of_its_kind(
    request_of: dict[str, bool], flow: str
) -> None:
    made, out = confirmed(), list[Effect]()
    made.request("a", Nack("p", ((0, 10),), LIVE_FILTER, **request_of), 0, out)
    assert out == [control("up", Nack("p", ((0, 10),), "TRUE", **request_of))]

    out.clear()
    told = Knowledge("p", frame(0, 10, 5), "TRUE", origin=AnswerOrigin(links=1, ahead_ns=7))
    made.knowledge(told, 0, out)
    origin = AnswerOrigin(links=2, ahead_ns=7)
    answer = Knowledge("p", frame(0, 10, 5), LIVE_FILTER, origin=origin)
    assert out == [Send("a", answer, Priority.DATA, flow)]


def test_knowledge_of_an_unknown_stream_is_ignored() -> None:
    made, out = confirmed(), list[Effect]()
    made.knowledge(Knowledge("unknown", frame(0, 10)), 0, out)
    made.request("a", Nack("unknown", ((0, 10),), LIVE_FILTER), 0, out)

    assert out == []


def test_an_alert_goes_up_with_the_link_that_is_to_blame() -> None:
    made, out = confirmed(), list[Effect]()
    alert = UpstreamCongestionAlert("p", 1, 4, AlertReading(0.5, "sb", 0.5, 90), None)
    assert made.alert("a", alert, 2048, out) is None

    reading = AlertReading(0.5, "sb", 0.5, 90, "ib->a", 2048)
    assert out == [control("up", UpstreamCongestionAlert("p", 1, 4, reading, None))]
    assert made.alert("b", alert, 0, out) is None
    assert len(out) == 1


def test_nothing_live_is_taken_from_a_parent_before_it_has_confirmed_what_it_was_told() -> None:
    """It may remember an earlier wish of this broker, and filter by that: what looks like silence
    then is what a child here wants."""
    made, out = confirmed(), list[Effect]()
    made.tree_changed(ELSEWHERE, out)
    (told,) = [
        effect.message
        for effect in out
        if isinstance(effect, Send) and isinstance(effect.message, SubscriptionUpdate)
    ]
    out.clear()
    made.knowledge(Knowledge("p", frame(100, 110)), 0, out)
    assert out == []

    made.confirmed(word(told.version, 120), [])
    made.knowledge(Knowledge("p", frame(120, 130, 125)), 0, out)
    assert out == [Send("a", Knowledge("p", frame(120, 130, 125)), Priority.DATA, "p")]
