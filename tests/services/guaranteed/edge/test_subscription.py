"""One subscription: contiguous deliveries, the reader's window, consumption."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.content.selectors.parser import parse
from penstock.core.machine import Effect, InvariantBroken, Send
from penstock.services.guaranteed.edge.subscription import DurableState, Subscription
from penstock.services.guaranteed.messages import Delivery


def frame(low: int, high: int, *ticks: int) -> Frame:
    rows = Batch.from_rows([({"tick": tick}, b"") for tick in ticks])
    return Frame(low, high, np.array(ticks, dtype="<i8"), rows)


WEIGHT = frame(0, 10, 5).weight


def subscription(window_bytes: int = 1 << 20, position: int = 0) -> Subscription:
    made = Subscription(1, "s", parse("TRUE"))
    made.connect("session", window_bytes)
    made.positions["p"] = position
    return made


def delivered(out: list[Effect]) -> list[Frame]:
    frames = []
    for effect in out:
        assert isinstance(effect, Send)
        assert effect.link == "session"
        assert isinstance(effect.message, Delivery)
        frames.append(effect.message.frame)
    return frames


def test_deliveries_are_contiguous_and_carry_the_silence_before_them() -> None:
    reader, out = subscription(), list[Effect]()
    reader.deliver("p", frame(0, 10, 4), out)
    reader.deliver("p", frame(10, 20), out)
    reader.deliver("p", frame(20, 30, 25), out)

    first, second = delivered(out)
    assert (first.low, first.high) == (0, 10)
    assert (second.low, second.high) == (20, 30)
    assert reader.positions == {"p": 30}
    assert reader.delivered_messages == 2


def test_what_was_handed_over_before_is_not_handed_over_again() -> None:
    reader, out = subscription(position=15), list[Effect]()
    reader.deliver("p", frame(0, 10, 5), out)
    reader.deliver("p", frame(10, 20, 12, 17), out)

    (only,) = delivered(out)
    assert list(only.ticks) == [17]
    assert only.low == 15


def test_silence_is_noted_and_not_sent() -> None:
    reader, out = subscription(), list[Effect]()
    reader.deliver("p", frame(0, 100), out)

    assert out == []
    assert reader.positions == {"p": 100}


def test_a_loss_is_said_aloud() -> None:
    reader, out = subscription(), list[Effect]()
    reader.deliver("p", Frame(0, 100, final=True), out)

    assert delivered(out) == [Frame(0, 100, final=True)]


def test_what_the_window_does_not_hold_waits_in_the_buffer() -> None:
    reader, out = subscription(2 * WEIGHT), list[Effect]()
    for low in range(0, 50, 10):
        reader.deliver("p", frame(low, low + 10, low), out)

    assert len(out) == 2
    assert reader.under_way_bytes == 2 * WEIGHT
    assert reader.buffered_bytes == 3 * WEIGHT
    assert not reader.has_room


def test_the_buffer_drains_in_order_as_the_reader_takes() -> None:
    reader, out = subscription(2 * WEIGHT), list[Effect]()
    for low in range(0, 50, 10):
        reader.deliver("p", frame(low, low + 10, low), out)
    for _ in range(5):
        reader.taken(WEIGHT, out)

    assert [part.low for part in delivered(out)] == [0, 10, 20, 30, 40]
    assert reader.buffered_bytes == 0
    assert reader.under_way_bytes == 0
    assert reader.has_room


def test_a_delivery_larger_than_the_window_passes_when_nothing_else_is_under_way() -> None:
    reader, out = subscription(1), list[Effect]()
    reader.deliver("p", frame(0, 10, 1), out)
    reader.deliver("p", frame(10, 20, 11), out)
    assert len(out) == 1

    reader.taken(WEIGHT, out)
    assert len(out) == 2


def test_taking_more_than_was_sent_does_not_widen_the_window() -> None:
    reader, out = subscription(WEIGHT), list[Effect]()
    reader.taken(1 << 30, out)
    reader.deliver("p", frame(0, 10, 1), out)
    reader.deliver("p", frame(10, 20, 11), out)

    assert len(out) == 1


def test_consuming_never_goes_back_nor_beyond_what_was_handed_over() -> None:
    reader = subscription()
    reader.deliver("p", frame(0, 10, 4, 8), [])
    reader.consume({"p": 5})
    assert reader.consumed == {"p": 5}

    reader.consume({"p": 2})
    assert reader.consumed == {"p": 5}

    reader.consume({"p": 1000})
    assert reader.consumed == {"p": 10}


def test_trailing_silence_counts_as_consumed() -> None:
    reader = subscription()
    reader.deliver("p", frame(0, 10, 4), [])
    reader.consume({"p": 5})
    reader.settle({"p": 500})

    assert reader.consumed == {"p": 500}


def test_while_a_row_is_not_consumed_nothing_behind_it_is() -> None:
    reader = subscription()
    reader.deliver("p", frame(0, 10, 4, 7), [])
    reader.consume({"p": 5})
    reader.settle({"p": 500})

    assert reader.consumed == {"p": 5}


def test_a_reader_that_comes_back_starts_from_what_was_consumed() -> None:
    reader = subscription(WEIGHT)
    reader.deliver("p", frame(0, 10, 4), [])
    reader.deliver("p", frame(10, 20, 14), [])
    reader.consume({"p": 5})
    reader.disconnect()

    assert reader.session is None
    assert reader.positions == {"p": 5}
    assert reader.buffered_bytes == 0


def test_what_is_saved_is_the_selector_and_what_was_consumed() -> None:
    reader = subscription()
    reader.deliver("p", frame(0, 10, 4), [])
    reader.consume({"p": 5})

    assert msgspec.msgpack.decode(reader.state(), type=DurableState) == DurableState(
        "TRUE", {"p": 5}
    )


def test_a_stream_is_not_live_and_catching_up_at_once() -> None:
    reader = subscription()
    reader.live["p"] = None
    reader.check_invariants()
    reader.catching_up["p"] = None  # type: ignore[assignment]

    with pytest.raises(InvariantBroken, match="live and catching up"):
        reader.check_invariants()


def test_a_reader_that_resumes_above_what_it_consumed_does_not_consume_the_rest() -> None:
    subscription = Subscription(1, "s", parse(""), durable=True)
    subscription.consumed = {"p": 10}
    subscription.connect("client/1", 1000)
    subscription.resume({"p": 20}, same_reader=True)
    subscription.settle({"p": 30})
    assert subscription.consumed == {"p": 10}
    subscription.consume({"p": 20})
    subscription.settle({"p": 30})
    assert subscription.consumed == {"p": 30}
