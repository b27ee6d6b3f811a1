from __future__ import annotations

import msgspec

from penstock.core.machine import PersistState
from penstock.services.guaranteed.staging.sinks import ONCE_LIMIT, Sinks
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
    sinks.decided("s", SinkState(decision=DECISION))
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


def test_what_an_earlier_version_saved_is_read() -> None:
    old = msgspec.msgpack.encode({"epoch": 4, "next_sequence": 9, "decision": None})
    assert Sinks(2, {"sink/s": old}).state("s") == SinkState(4, 9)


def test_no_sink_makes_room_for_another() -> None:
    sinks = Sinks(2, {})
    sinks.finished("a", SinkState(1, 1))
    assert not sinks.is_full(0)
    assert sinks.is_full(1)
    sinks.finished("b", SinkState(1, 1))
    assert sinks.is_full(0)
    assert saved(sinks.save(1, "a", SinkState(2, 2))) == {"sink/a": SinkState(2, 2)}
    assert sinks.is_decided("a", 1)
    assert sinks.is_decided("b", 1)


def test_the_order_of_use_survives_a_restart() -> None:
    states = {"a": SinkState(1, 1, used_at=30), "b": SinkState(1, 1, used_at=10)}
    disk = {f"sink/{name}": msgspec.msgpack.encode(state) for name, state in states.items()}
    sinks = Sinks(5, disk)
    sinks.finished("c", SinkState(1, 1, used_at=40))
    assert [name for name, _ in sinks.listed()] == ["b", "a", "c"]


def test_sinks_that_are_used_once_take_no_place_and_the_oldest_is_dropped() -> None:
    sinks = Sinks(1, {})
    sinks.finished("kept", SinkState(7, 1))
    dropped = []
    for number in range(ONCE_LIMIT + 2):
        state = SinkState(0, 1, once=True, used_at=number)
        dropped += [
            key for key, value in saved(sinks.save(1, f"{number}", state)).items() if not value
        ]
        sinks.finished(f"{number}", state)
    assert dropped == ["sink/0", "sink/1"]
    assert not sinks.is_decided("0", 0)
    assert sinks.is_decided("2", 0)
    assert sinks.is_decided("kept", 7)
    assert [name for name, _ in sinks.listed()] == ["kept"]


def test_a_sink_with_a_decision_is_never_dropped() -> None:
    sinks = Sinks(1, {})
    for number in range(ONCE_LIMIT):
        sinks.decided(f"{number}", SinkState(decision=DECISION, once=True))

    assert saved(sinks.save(1, "c", SinkState(once=True))) == {"sink/c": SinkState(once=True)}
    assert len(list(sinks.unfinished())) == ONCE_LIMIT
