"""The relays of a broker: which source a message belongs to, and from whom it is taken."""

from __future__ import annotations

from math import nan

from penstock.content.rows.frame import Frame
from penstock.core.machine import Effect, Send
from penstock.core.trees import Tree
from penstock.services.guaranteed.laws.rate_law import AlertReading
from penstock.services.guaranteed.links import LOCAL_EDGE
from penstock.services.guaranteed.messages import (
    Acknowledgement,
    DownstreamCongestionQuery,
    Knowledge,
    Nack,
    SubscriptionConfirmed,
    SubscriptionUpdate,
    UpstreamCongestionAlert,
    Withdrawal,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.relay.relays import Relays

TREE = Tree("pb", "pb", "up", ("down",), 1, ("p",))
QUEUED = {"down": 700}


def relays() -> Relays:
    """A broker between a source and a child that has registered."""
    made = Relays("ib", GuaranteedParameters(), {}, QUEUED)
    made.trees_changed({"pb": TREE}, [])
    made.update("down", SubscriptionUpdate("pb", 1, False, ("TRUE",)), 0, [])
    made.confirmed("up", SubscriptionConfirmed("pb", 2, {"p": 0}, {"p": 0}), 0, [])
    return made


def told(out: list[Effect]) -> list[tuple[str, str]]:
    return [
        (effect.link, type(effect.message).__name__) for effect in out if isinstance(effect, Send)
    ]


def test_live_knowledge_is_taken_from_the_parent_alone() -> None:
    made, out = relays(), list[Effect]()
    made.knowledge("down", Knowledge("p", Frame(0, 10)), 0, out)
    assert out == []

    made.knowledge("up", Knowledge("p", Frame(0, 10)), 0, out)
    assert told(out) == [("down", "Knowledge")]


def test_queries_are_taken_from_the_parent_alone() -> None:
    made, out = relays(), list[Effect]()
    query = DownstreamCongestionQuery("p", 1, 1, 10)
    made.query("down", query, 0, out)
    assert out == []

    made.query("up", query, 0, out)
    assert told(out) == [("down", "DownstreamCongestionQuery")]


def test_a_confirmation_from_another_than_the_parent_is_ignored() -> None:
    made, out = relays(), list[Effect]()
    made.update(LOCAL_EDGE, SubscriptionUpdate("pb", 1, False, ("a = 1",)), 0, [])
    made.confirmed("down", SubscriptionConfirmed("pb", 9, {"p": 0}, {"p": 0}), 0, out)

    assert out == []


def test_messages_about_unknown_sources_are_ignored() -> None:
    made, out = relays(), list[Effect]()
    made.update("down", SubscriptionUpdate("xb", 1, False, ("TRUE",)), 0, out)
    made.withdrawal("down", Withdrawal("xb"), 0, out)
    made.request("down", Nack("x", ((0, 1),), "TRUE"), 0, out)
    made.query("up", DownstreamCongestionQuery("x", 1, 1, 10), 0, out)
    made.knowledge("up", Knowledge("x", Frame(0, 10)), 0, out)

    assert out == []
    assert not made.acknowledge(Acknowledgement("xb", "sb", 1, 1, {}, {}), out)


def test_an_alert_goes_up_with_the_link_on_which_most_waits() -> None:
    made, out = relays(), list[Effect]()
    slow = AlertReading(0.5, "sb", 0.5, 0)

    assert made.alert("down", UpstreamCongestionAlert("p", 1, 1, slow, None), out) is None
    (sent,) = out
    assert isinstance(sent, Send)
    assert sent.link == "up"
    assert sent.message.nonrecovering.link == "ib->down"
    assert sent.message.nonrecovering.link_bytes == 700


def test_an_alert_with_an_impossible_rate_is_dropped() -> None:
    made, out = relays(), list[Effect]()
    wrong = AlertReading(nan, "sb", 0.5, 0)

    assert made.alert("down", UpstreamCongestionAlert("p", 1, 1, wrong, None), out) is None
    assert out == []


def test_a_source_that_cannot_be_reached_has_no_parent() -> None:
    made, out = relays(), list[Effect]()
    made.trees_changed({}, [])
    made.knowledge("up", Knowledge("p", Frame(0, 10)), 0, out)

    assert out == []


def test_a_pubend_has_a_relay_once_it_has_a_tree() -> None:
    made = relays()
    assert made.of_pubend("q") is None

    own = Tree("ib", "ib", None, (), 1, ("q",))
    assert made.trees_changed({"pb": TREE, "ib": own}, []) == [own]
    found = made.of_pubend("q")
    assert found is not None
    assert found.root == "ib"


def test_a_source_with_other_trees_than_before_starts_anew_in_them() -> None:
    made, out = relays(), list[Effect]()
    first = Tree("pb~1of2", "pb", "up", ("down",), 1, ("p",))
    second = Tree("pb~2of2", "pb", "other", ("down",), 1, ("q",))
    trees = {"pb~1of2": first, "pb~2of2": second}

    assert made.trees_changed(trees, out) == [first, second]
    assert told(out) == [
        ("up", "Withdrawal"),
        ("up", "SubscriptionUpdate"),
        ("other", "SubscriptionUpdate"),
    ]
    out.clear()
    # What the parent still sends for the earlier tree was filtered by the earlier registration.
    made.knowledge("up", Knowledge("p", Frame(0, 10)), 0, out)
    made.update("down", SubscriptionUpdate("pb", 2, False, ("a = 1",)), 0, out)
    assert out == []
    made.update("down", SubscriptionUpdate("pb~2of2", 1, True, ("TRUE",)), 0, out)
    assert told(out) == [("other", "SubscriptionUpdate")]


def test_claims_go_up_by_whichever_tree_there_is() -> None:
    made, out = relays(), list[Effect]()
    claim = Acknowledgement("pb", "sb", 1, 1, {}, {})
    trees = {
        f"pb~{number}of2": Tree(f"pb~{number}of2", "pb", "up", (), 1, (name,))
        for number, name in ((1, "p"), (2, "q"))
    }
    for each in ({"pb": TREE}, trees):
        made.trees_changed(each, [])
        out.clear()
        assert not made.acknowledge(claim, out)
        assert told(out) == [("up", "Acknowledgement")]
