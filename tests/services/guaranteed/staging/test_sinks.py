from __future__ import annotations

import msgspec

from penstock.core.machine import PersistState
from penstock.services.guaranteed.staging.sinks import Sinks
from penstock.services.guaranteed.staging.staged_epoch import Decision, SinkState

DECISION = Decision(3, "p", 10, 2, ((0, 2),))


def saved(order: PersistState) -> dict[str, SinkState | None]:
    return {
        key: None if value is None else msgspec.msgpack.decode(value, type=SinkState)
        for key, value in order.values.items()
    }


def test_a_sink_that_is_new_has_decided_nothing() -> None:
    assert Sinks(2, {}).state("s") == SinkState()
    assert not Sinks(2, {}).is_decided("s", 0)


def test_a_decision_and_its_end_are_known() -> None:
    sinks = Sinks(2, {})
    sinks.decided("s", DECISION)
    assert sinks.is_decided("s", 3)
    assert list(sinks.unfinished()) == [("s", DECISION)]

    sinks.finished("s", SinkState(3, 12))
    assert sinks.is_decided("s", 3)
    assert not sinks.is_decided("s", 4)
    assert list(sinks.unfinished()) == []


def test_the_states_are_loaded_again() -> None:
    order = Sinks(2, {}).save(1, "s", SinkState(3, 12))
    loaded = Sinks(2, {"sink/s": order.values["sink/s"] or b"", "other": b""})

    assert loaded.state("s") == SinkState(3, 12)


def test_the_sink_that_committed_longest_ago_makes_room() -> None:
    sinks = Sinks(2, {})
    sinks.finished("a", SinkState(1, 1))
    sinks.finished("b", SinkState(1, 1))
    sinks.finished("a", SinkState(2, 2))

    assert saved(sinks.save(1, "c", SinkState())) == {"sink/c": SinkState(), "sink/b": None}
    assert sinks.state("b") == SinkState()


def test_a_sink_with_a_decision_never_makes_room() -> None:
    sinks = Sinks(1, {})
    sinks.decided("a", DECISION)

    assert saved(sinks.save(1, "c", SinkState())) == {"sink/c": SinkState()}
    assert list(sinks.unfinished()) == [("a", DECISION)]
