"""Durable subscriptions: saved before announced, positions saved together, claims that are safe."""

from __future__ import annotations

from penstock.content.selectors.parser import parse
from penstock.core.clock import SECOND
from penstock.core.machine import Effect, PersistFailed, PersistState
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.edge.durable import SAVE_INTERVAL, DurableSubscriptions
from penstock.services.guaranteed.edge.subscription import Subscription
from penstock.services.guaranteed.messages import Subscribe
from penstock.services.guaranteed.parameters import GuaranteedParameters

SELECTOR = parse("n > 5")
MADE_AT = 7
WISH = Subscribe("orders", "n > 5", durable=True)


def opened(limit: int = 10) -> tuple[DurableSubscriptions, Subscription, PersistState]:
    durable = DurableSubscriptions(
        GuaranteedParameters(durable_subscriptions=limit), Tokens(), {}, MADE_AT
    )
    out: list[Effect] = []
    subscription = durable.open(WISH, SELECTOR, MADE_AT, out)
    (order,) = out
    assert isinstance(order, PersistState)
    return durable, subscription, order


def save(durable: DurableSubscriptions, now: int) -> PersistState | None:
    out: list[Effect] = []
    durable.save_if_due(now, out)
    for order in out:
        assert isinstance(order, PersistState)
        return order
    return None


def claim(durable: DurableSubscriptions, pubend: str, now: int = 0) -> int | None:
    lowest = durable.lowest(pubend, now)
    return None if lowest is None else lowest.tick


def test_a_subscription_exists_once_it_is_saved() -> None:
    durable, subscription, order = opened()
    assert list(order.values) == ["durable/orders"]
    assert not durable.is_saved(subscription)

    assert durable.resolved(order.token, None) == [subscription]
    assert durable.is_saved(subscription)
    assert durable.all() == [subscription]


def test_a_subscription_that_could_not_be_saved_does_not_exist() -> None:
    durable, subscription, order = opened()

    assert durable.resolved(order.token, PersistFailed(0, "the disk is full")) == [subscription]
    assert durable.all() == []


def test_opening_it_again_finds_it() -> None:
    durable, subscription, _ = opened()
    out: list[Effect] = []

    assert durable.open(WISH, SELECTOR, MADE_AT, out) is subscription
    assert out == []


def test_another_selector_is_refused_and_the_refusal_names_the_right_one() -> None:
    durable, _, _ = opened()

    assert durable.refusal(WISH, SELECTOR) == ""
    refusal = durable.refusal(WISH, parse("n > 6"))
    assert "'n > 5'" in refusal
    assert "'orders'" in refusal


def test_the_number_is_bounded() -> None:
    durable, _, _ = opened(limit=1)

    assert "1 durable subscriptions" in durable.refusal(
        Subscribe("more", "n > 5", durable=True), SELECTOR
    )


def test_where_it_starts_is_saved_at_once_and_it_does_not_exist_before() -> None:
    """A crash in between would let it start anew where the stream is then."""
    durable, subscription, order = opened()
    durable.resolved(order.token, None)
    subscription.consumed = {"p": 10}
    durable.changed(subscription, SECOND)
    assert not durable.is_saved(subscription)

    saving = save(durable, SECOND)
    assert saving is not None
    assert durable.resolved(saving.token, None) == [subscription]
    assert durable.is_saved(subscription)


def test_positions_are_saved_together_after_an_interval() -> None:
    durable, subscription, order = opened()
    durable.resolved(order.token, None)
    subscription.saved = {"p": 5}
    subscription.consumed = {"p": 10}
    durable.changed(subscription, SECOND)
    subscription.consumed = {"p": 20}
    durable.changed(subscription, SECOND + 1)

    assert save(durable, SECOND + SAVE_INTERVAL - 1) is None
    assert save(durable, SECOND + SAVE_INTERVAL) is not None
    assert durable.save_at is None


def test_a_position_that_did_not_move_is_not_saved() -> None:
    durable, subscription, order = opened()
    durable.resolved(order.token, None)
    durable.changed(subscription, SECOND)

    assert durable.save_at is None


def test_only_what_is_saved_is_claimed() -> None:
    durable, subscription, order = opened()
    durable.resolved(order.token, None)
    assert claim(durable, "p") == MADE_AT
    subscription.consumed = {"p": 10}
    durable.changed(subscription, 0)
    saving = save(durable, SAVE_INTERVAL)
    assert saving is not None
    subscription.consumed = {"p": 30}
    assert claim(durable, "p") == MADE_AT

    durable.resolved(saving.token, None)
    assert claim(durable, "p") == 10


def test_a_stream_without_a_position_is_claimed_from_where_it_will_start() -> None:
    durable, _, order = opened()
    durable.resolved(order.token, None)
    out: list[Effect] = []
    patterns = Subscribe("all", "n > 5", durable=True, start="earliest", pubends=("only.*",))
    durable.open(patterns, SELECTOR, MADE_AT + 1, out)

    assert claim(durable, "p") == MADE_AT
    assert claim(durable, "only.1") == 0
    assert claim(durable, "telemetry@pb") is None


def test_one_without_a_reader_holds_the_logs_only_so_long() -> None:
    parameters = GuaranteedParameters(durable_hold_expiry_ns=10 * SECOND, hold_expiry_ns=SECOND)
    durable = DurableSubscriptions(parameters, Tokens(), {}, MADE_AT)
    subscription = durable.open(WISH, SELECTOR, MADE_AT, [])
    subscription.saved = {"p": 10}
    assert claim(durable, "p", 100 * SECOND) == 10

    durable.left(subscription, 100 * SECOND)
    assert claim(durable, "p", 109 * SECOND) == 10
    assert claim(durable, "p", 110 * SECOND) is None
    assert durable.open(WISH, SELECTOR, 111 * SECOND, []) is subscription
    assert claim(durable, "p", 200 * SECOND) == 10


def test_after_a_restart_readers_have_time_to_come_back_before_the_logs_are_let_go() -> None:
    parameters = GuaranteedParameters(durable_hold_expiry_ns=10 * SECOND, hold_expiry_ns=SECOND)
    before = DurableSubscriptions(parameters, Tokens(), {}, MADE_AT)
    subscription = before.open(WISH, SELECTOR, MADE_AT, [])
    before.left(subscription, SECOND)
    saving = save(before, 2 * SECOND)
    assert saving is not None
    saved = {key: value for key, value in saving.values.items() if value is not None}
    started_at = 500 * SECOND
    durable = DurableSubscriptions(parameters, Tokens(), saved, started_at)

    assert claim(durable, "p", started_at) == MADE_AT
    assert claim(durable, "p", started_at + SECOND) is None


def test_a_position_that_could_not_be_saved_is_not_claimed() -> None:
    durable, subscription, order = opened()
    durable.resolved(order.token, None)
    subscription.consumed = {"p": 10}
    durable.changed(subscription, 0)
    saving = save(durable, SAVE_INTERVAL)
    assert saving is not None
    assert durable.resolved(saving.token, PersistFailed(0, "the disk is full")) == []

    assert claim(durable, "p") == MADE_AT


def test_what_was_saved_is_found_after_a_restart() -> None:
    durable, subscription, order = opened()
    durable.resolved(order.token, None)
    subscription.consumed = {"p": 10}
    durable.changed(subscription, 0)
    saving = save(durable, SAVE_INTERVAL)
    assert saving is not None
    saved = {key: value for key, value in saving.values.items() if value is not None}
    restarted = DurableSubscriptions(GuaranteedParameters(), Tokens(), {**saved, "other": b""}, 99)

    assert claim(restarted, "p") == 10
    assert claim(restarted, "q") == MADE_AT
    found = restarted.open(WISH, SELECTOR, 99, [])
    assert found.consumed == {"p": 10}
    assert restarted.is_saved(found)


def test_a_forgotten_subscription_claims_nothing_and_is_deleted() -> None:
    durable, subscription, order = opened()
    durable.resolved(order.token, None)
    subscription.saved = {"p": 10}
    out: list[Effect] = []
    assert durable.forget("orders", "operator", out)

    (deleted,) = out
    assert isinstance(deleted, PersistState)
    assert deleted.values == {"durable/orders": None}
    assert durable.deleted(deleted.token) == ("operator", "orders")
    assert claim(durable, "p") is None
    subscription.consumed = {"p": 99}
    durable.changed(subscription, 0)
    assert durable.save_at is None
    assert not durable.forget("orders", "operator", out)
    assert len(out) == 1
