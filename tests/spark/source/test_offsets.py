from __future__ import annotations

import json

import pytest

from penstock.services.guaranteed.messages import StreamBounds
from penstock.spark.source.offsets import (
    DataLost,
    StreamAway,
    StreamOffset,
    WrongCheckpoint,
    resolve,
)
from penstock.spark.source.options import BadOption, Place

STREAMS = {"p": StreamBounds("a", 10, 100, 90), "q": StreamBounds("b", 20, 50, 50)}


def offset(next_: dict[str, int], start: dict[str, int], *, initial: bool = False) -> StreamOffset:
    hosts = {pubend: bounds.broker for pubend, bounds in STREAMS.items() if pubend in next_}
    return StreamOffset(next_, start, hosts, initial)


def test_an_offset_round_trips_through_json() -> None:
    made = offset({"q": 5, "p": 7}, {"q": 1, "p": 2})
    document = json.loads(json.dumps(made.to_json()))
    assert StreamOffset.from_json(document) == made
    assert list(made.to_json()["next"]) == ["p", "q"]


def test_a_batch_lies_between_two_offsets() -> None:
    start = {"p": 10}
    assert offset({"p": 30}, start).lows(offset({"p": 60}, start)) == {"p": 30}


def test_a_first_batch_begins_at_the_start_recorded_in_its_end() -> None:
    # The head moved between Spark's two requests for the initial offset.
    asked_again = offset({"p": 40}, {"p": 40}, initial=True)
    assert asked_again.lows(offset({"p": 60}, {"p": 30})) == {"p": 30}


def test_a_new_pubend_is_read_from_its_beginning() -> None:
    before = offset({"p": 30}, {"p": 10})
    grown = before.with_new(STREAMS)
    assert grown.next == {"p": 30, "q": 20}
    assert before.lows(StreamOffset({"p": 60, "q": 50}, grown.start, grown.hosts)) == {
        "p": 30,
        "q": 20,
    }
    assert grown.with_new(STREAMS) is grown
    assert before.with_new(STREAMS, not_before=45).next == {"p": 30, "q": 45}


@pytest.mark.parametrize(
    "document", [{}, {"offset": 3}, {"next": {"p": "x"}, "start": {}, "hosts": {}}]
)
def test_an_offset_of_another_source_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(WrongCheckpoint, match="not one of the penstock source"):
        StreamOffset.from_json(document)


def test_a_checkpoint_of_another_overlay_is_refused() -> None:
    with pytest.raises(WrongCheckpoint, match=r"the pubends r, .* \(here: p, q\)"):
        StreamOffset({"r": 5}, {"r": 5}, {"r": "a"}).check_identity(STREAMS)
    with pytest.raises(
        WrongCheckpoint, match="pubend 'p' of broker 'z'; here the pubend is hosted by 'a'"
    ):
        StreamOffset({"p": 5}, {"p": 5}, {"p": "z"}).check_identity(STREAMS)
    # A broker that cannot be reached at present is waited for.
    StreamOffset({"p": 5, "r": 5}, {}, {"p": "a", "r": "z"}).check_identity(STREAMS)


def test_a_log_that_was_trimmed_before_it_was_read_is_told() -> None:
    offset({"p": 10}, {}).check_kept(STREAMS)
    with pytest.raises(DataLost, match="read up to tick 9, but the log begins at 10"):
        offset({"p": 9}, {}).check_kept(STREAMS)


def test_a_stream_that_cannot_be_reached_is_told() -> None:
    offset({"p": 30, "q": 30}, {}).check_complete(STREAMS)
    with pytest.raises(StreamAway, match="pubend 'r' of broker 'z' cannot be reached"):
        StreamOffset({"p": 5, "r": 5}, {}, {"p": "a", "r": "z"}).check_complete(STREAMS)


def test_places_are_resolved_for_every_pubend() -> None:
    assert resolve(Place("earliest"), STREAMS, "o") == {"p": 10, "q": 20}
    assert resolve(Place("latest"), STREAMS, "o") == {"p": 100, "q": 50}
    assert resolve(Place(time=60), STREAMS, "o") == {"p": 60, "q": 60}
    assert resolve(Place(time=15), STREAMS, "o") == {"p": 15, "q": 20}
    assert resolve(Place(ticks={"p": 1, "q": 2}), STREAMS, "o") == {"p": 1, "q": 2}
    with pytest.raises(BadOption, match="option o: there is no pubend 'r'"):
        resolve(Place(ticks={"r": 1}), STREAMS, "o")
    assert resolve(Place("earliest", ticks={"p": 30}), STREAMS, "o") == {"p": 30, "q": 20}
    assert resolve(Place("latest", ticks={"p": 30}), STREAMS, "o") == {"p": 30, "q": 50}
    assert resolve(Place("latest", ticks={"p": -2, "q": -1}), STREAMS, "o") == {"p": 10, "q": 50}
