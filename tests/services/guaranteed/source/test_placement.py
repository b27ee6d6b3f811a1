from __future__ import annotations

from penstock.services.guaranteed.source.placement import open_to_clients, placed

PUBENDS = ("q", "telemetry@b", "p")


def test_the_streams_of_the_broker_itself_are_not_open_to_clients() -> None:
    assert open_to_clients(PUBENDS) == ["p", "q"]
    assert placed(PUBENDS, "carol", "telemetry@b") == ""


def test_a_wish_is_fulfilled_if_the_pubend_is_hosted() -> None:
    assert placed(PUBENDS, "carol", "q") == "q"
    assert placed(PUBENDS, "carol", "elsewhere") == ""


def test_a_name_always_gets_the_same_pubend_and_names_are_spread() -> None:
    names = [f"producer{number}" for number in range(20)]
    first = [placed(PUBENDS, name, "") for name in names]

    assert first == [placed(reversed(PUBENDS), name, "") for name in names]
    assert set(first) == {"p", "q"}


def test_without_a_pubend_there_is_no_place() -> None:
    assert placed((), "carol", "") == ""
