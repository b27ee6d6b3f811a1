"""Golden conversations: who said what, in files that a person can read.

``PENSTOCK_UPDATE_CONVERSATIONS=1`` writes the files anew; read the difference before you keep it.
Link state and acknowledgements are left out where they are not what a conversation is about.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import MILLISECOND, SECOND
from penstock.overlay.messages import LinkState
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.messages import (
    Acknowledgement,
    Delivery,
    DownstreamCongestionQuery,
    Knowledge,
    OpenProducer,
    Subscribe,
    Taken,
    Unsubscribe,
)

CONVERSATIONS = Path(__file__).parent / "conversations"
LINE = [("ib", "pb"), ("ib", "sb")]
BACKGROUND = (LinkState, Acknowledgement)
START = 1000 * SECOND
"""When the brokers of the network start (conftest)."""
SILENT_WHEN_ZERO = ("start_time", "waited_ns", "link_bytes", "max_bytes", "since", "instance")


def instant(value: int) -> str:
    """Milliseconds since the brokers started, and ticks beyond the millisecond if there are any."""
    whole, ticks = divmod(value - START, MILLISECOND)
    return f"{whole} ms" + (f" + {ticks}" if ticks else "")


def shown(value: Any) -> str:
    """A field of a message, for people."""
    match value:
        case Frame():
            rows = ", ".join(str(row["side"]) for row in value.batch.attribute_rows())
            held = "final" if value.final else rows or "silence"
            return f"[{instant(value.low)}, {instant(value.high)}) {held}"
        case Batch():
            return ", ".join(str(row["side"]) for row in value.attribute_rows())
        case dict():
            return ", ".join(f"{key} at {shown(each)}" for key, each in value.items())
        case (int(low), int(high)):
            return f"[{instant(low)}, {instant(high)})"
        case tuple():
            return ", ".join(shown(each) for each in value)
        case msgspec.Struct():
            return f"({fields(value)})"
        case float():
            return f"{value:.2f}"
        case int() if value >= START:
            return instant(value)
    return str(value)


def fields(message: msgspec.Struct) -> str:
    """The fields of a message that say something."""
    said = []
    for field in msgspec.structs.fields(message):
        value = getattr(message, field.name)
        absent = value is None or value is False or value in ("", {}, ())
        if not absent and (value != 0 or field.name not in SILENT_WHEN_ZERO):
            said.append(f"{field.name} {shown(value)}")
    return "; ".join(said)


def conversation(network: Any, leave_out: tuple[type, ...]) -> Iterable[str]:
    """The lines of what was said."""
    at = None
    for now, source, target, message in network.spoken:
        if isinstance(message, leave_out):
            continue
        if now != at:
            at = now
            yield f"at {instant(now)}"
        yield f"  {source} -> {target}: {type(message).__name__}: {fields(message)}"


def compare(name: str, network: Any, *, leave_out: tuple[type, ...] = BACKGROUND) -> None:
    """Check what was said against the file, or write the file."""
    text = "\n".join(conversation(network, leave_out)) + "\n"
    path = CONVERSATIONS / f"{name}.txt"
    if os.environ.get("PENSTOCK_UPDATE_CONVERSATIONS") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), (
        f"the conversation {name} has changed; if it is meant, write it anew with "
        "PENSTOCK_UPDATE_CONVERSATIONS=1"
    )


def line(network: Any, **parameters: Any) -> Any:
    """Publishers at pb, a relay ib, subscribers at sb; the conversation begins after the start."""
    made = network(LINE, {"pb": ("p",)}, **parameters)
    made.advance(3 * SECOND)
    made.spoken.clear()
    return made


def quiet(**parameters: Any) -> dict[str, Any]:
    """Without congestion control and silence, which are not what every conversation is about."""
    return {
        "congestion": CongestionParameters(pdcc=False),
        "silence_interval_ns": 3600 * SECOND,
        **parameters,
    }


def test_a_subscription_is_confirmed_through_a_relay(network: Any) -> None:
    brokers = line(network, **quiet())
    brokers.client("alice", "sb", Subscribe("orders", "side = 'buy'"))
    brokers.client("bob", "ib", Subscribe("everything", "TRUE"))
    brokers.client("alice", "sb", Unsubscribe("orders"))

    compare("a_subscription_is_confirmed_through_a_relay", brokers)


def test_a_message_travels_to_those_who_want_it(network: Any) -> None:
    brokers = line(network, **quiet())
    brokers.client("alice", "sb", Subscribe("orders", "side = 'buy'"))
    brokers.client("carol", "pb", OpenProducer("carol"))
    brokers.spoken.clear()
    brokers.advance()
    brokers.publish("carol", "pb", 0, "buy", "sell")
    brokers.publish("carol", "pb", 0, "buy", "sell")

    compare("a_message_travels_to_those_who_want_it", brokers)


def test_a_lost_frame_is_asked_for_and_answered_from_the_cache_of_the_relay(network: Any) -> None:
    brokers = line(network, **quiet())
    brokers.client("alice", "sb", Subscribe("orders", "TRUE"))
    brokers.client("carol", "pb", OpenProducer("carol"))
    brokers.publish("carol", "pb", 0, "first")
    brokers.spoken.clear()
    brokers.advance(10 * MILLISECOND)
    brokers.lose = lambda source, target, message: (
        isinstance(message, Knowledge) and target == "sb" and message.answer_for is None
    )
    brokers.publish("carol", "pb", 1, "buy")
    brokers.lose = lambda source, target, message: False
    brokers.advance(10 * MILLISECOND)
    brokers.publish("carol", "pb", 2, "sell")

    compare("a_lost_frame_is_asked_for_and_answered_from_the_cache_of_the_relay", brokers)


def test_a_reader_that_starts_in_the_past_catches_up_from_the_log(network: Any) -> None:
    brokers = line(network, **quiet())
    brokers.client("carol", "pb", OpenProducer("carol"))
    brokers.publish("carol", "pb", 0, "buy", "sell")
    brokers.advance()
    brokers.spoken.clear()
    half_a_second_ago = brokers.now - SECOND // 2
    past = Subscribe("orders", "side = 'sell'", start="time", start_time=half_a_second_ago)
    brokers.client("alice", "sb", past)
    brokers.client("alice", "sb", Taken("orders", 200))
    brokers.publish("carol", "pb", 2, "sell")

    compare("a_reader_that_starts_in_the_past_catches_up_from_the_log", brokers)


def test_an_alert_halves_the_rate_of_a_pubend(network: Any) -> None:
    """The link to sb is cut off for data, so sb falls behind, and the pubend hears of it."""
    brokers = line(network)
    brokers.client("alice", "sb", Subscribe("orders", "TRUE"))
    brokers.client("carol", "pb", OpenProducer("carol"))
    for number in range(10):
        brokers.advance(100 * MILLISECOND)
        brokers.publish("carol", "pb", number, "buy")
    brokers.lose = lambda source, target, message: isinstance(message, Knowledge) and target == "sb"
    brokers.queues("ib", sb=4096)
    brokers.spoken.clear()
    number = 10
    while not any(type(m).__name__ == "ThrottleNotice" for _, _, _, m in brokers.spoken):
        brokers.advance(100 * MILLISECOND)
        brokers.publish("carol", "pb", number, "buy")
        number += 1
        assert number < 200, "no alert came"
    last = max(now for now, _, _, m in brokers.spoken if isinstance(m, DownstreamCongestionQuery))
    brokers.spoken = [entry for entry in brokers.spoken if entry[0] >= last]

    compare(
        "an_alert_halves_the_rate_of_a_pubend",
        brokers,
        leave_out=(*BACKGROUND, Delivery),
    )
