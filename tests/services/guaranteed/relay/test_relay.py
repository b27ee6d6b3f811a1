"""A stream passing through a broker: forwarding, the cache, consolidation, suppression."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import MILLISECOND
from penstock.core.machine import Effect, Priority, Send
from penstock.services.guaranteed.laws.answer_round_trips import HERE, AnswerOrigin
from penstock.services.guaranteed.links import LOCAL_EDGE
from penstock.services.guaranteed.messages import (
    LIVE_FILTER,
    DownstreamCongestionQuery,
    Knowledge,
    Nack,
    SubscriptionUpdate,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.relay.registration import Registrations
from penstock.services.guaranteed.relay.relay import RelayStream

ALL, EVEN, ODD = "TRUE", "even = TRUE", "even = FALSE"


def frame(low: int, high: int, *ticks: int) -> Frame:
    rows = Batch.from_rows([({"tick": tick, "even": tick % 2 == 0}, b"") for tick in ticks])
    return Frame(low, high, np.array(ticks, dtype="<i8"), rows)


class Bench:
    """A relay whose children are all confirmed from tick 0 on."""

    def __init__(
        self,
        wanted: dict[str, str],
        complete_from: int = 0,
        kept_answers_bytes: int = 0,
        **parameters: Any,
    ) -> None:
        self.registrations = Registrations()
        for link, selector in wanted.items():
            update = SubscriptionUpdate("root", 1, False, (selector,))
            self.registrations.update(link, update)
            self.registrations.links[link].confirmed = True
        self.registrations.confirm(len(wanted), {"p": complete_from})
        self.stream = RelayStream(
            "p",
            self.registrations,
            GuaranteedParameters(**parameters),
            kept_answers_bytes=kept_answers_bytes,
        )

    def live(self, part: Frame) -> dict[str, Frame]:
        out: list[Effect] = []
        self.stream.live(part, 0, out)
        return {effect.link: effect.message.frame for effect in sends(out)}

    def ask(
        self, link: str, low: int, high: int, filter_text: str = LIVE_FILTER, now: int = 0
    ) -> tuple[list[tuple[int, int]], list[Frame]]:
        """What goes up because of a request, and what is answered at once."""
        out: list[Effect] = []
        upward = self.stream.request(
            link, Nack("p", ((low, high),), filter_text, recovers=True), now, out
        )
        self.asked = "" if upward is None else upward.filter
        intervals = [] if upward is None else list(upward.intervals)
        return intervals, [effect.message.frame for effect in sends(out)]

    def answer(
        self,
        part: Frame,
        filter_text: str = ALL,
        *,
        more: bool = False,
        origin: AnswerOrigin = HERE,
    ) -> list[tuple[str, Knowledge]]:
        out: list[Effect] = []
        self.stream.answered(part, filter_text, more=more, out=out, origin=origin)
        return [(effect.link, effect.message) for effect in sends(out)]


def sends(out: list[Effect]) -> list[Send]:
    return [effect for effect in out if isinstance(effect, Send)]


# -- live -----------------------------------------------------------------------------------


def test_live_knowledge_is_filtered_for_each_child_and_keeps_its_interval() -> None:
    bench = Bench({"a": EVEN, "b": ODD})

    assert bench.live(frame(0, 10, 2, 3)) == {"a": frame(0, 10, 2), "b": frame(0, 10, 3)}


def test_a_frame_of_which_nothing_is_dropped_is_forwarded_as_it_came() -> None:
    bench = Bench({"a": ALL})
    original = frame(0, 10, 2, 3)

    assert bench.live(original)["a"] is original


def test_the_edge_of_the_same_broker_gets_everything() -> None:
    bench = Bench({LOCAL_EDGE: EVEN})

    assert bench.live(frame(0, 10, 2, 3)) == {LOCAL_EDGE: frame(0, 10, 2, 3)}


def test_nothing_flows_before_the_first_confirmation() -> None:
    bench = Bench({"a": ALL})
    bench.registrations.links["a"].confirmed = False

    assert bench.live(frame(0, 10, 2)) == {}


def test_what_was_confirmed_away_is_not_sent() -> None:
    bench = Bench({"a": ALL})
    bench.registrations.links["a"].live_from = {"p": 5}

    assert bench.live(frame(0, 5, 2)) == {}
    assert bench.live(frame(0, 10, 2, 7)) == {"a": frame(5, 10, 7)}


def test_data_of_a_pubend_is_a_flow_of_its_own() -> None:
    bench = Bench({"a": ALL})
    out: list[Effect] = []
    bench.stream.live(frame(0, 10), 0, out)
    (send,) = sends(out)

    assert (send.priority, send.flow) == (Priority.DATA, "p")


# -- requests -------------------------------------------------------------------------------


def test_a_request_is_answered_from_the_cache_and_filtered_for_the_requester() -> None:
    bench = Bench({"a": EVEN, "b": ODD})
    bench.live(frame(0, 10, 2, 3))

    assert bench.ask("a", 0, 10) == ([], [frame(0, 10, 2)])
    assert bench.ask("a", 0, 10, ODD) == ([], [frame(0, 10, 3)])


def test_what_the_cache_does_not_hold_goes_up() -> None:
    bench = Bench({"a": ALL})
    bench.live(frame(10, 20, 15))

    assert bench.ask("a", 5, 25) == ([(5, 10), (20, 25)], [frame(10, 20, 15)])


def test_the_cache_answers_only_for_what_it_is_complete_for() -> None:
    """Before tick 50 the relay wanted something else, and filtered the rest away."""
    bench = Bench({"a": ALL}, complete_from=50)
    bench.live(frame(0, 100, 20, 60))

    assert bench.ask("a", 0, 100) == ([(0, 50)], [frame(50, 100, 60)])


def test_the_cache_does_not_answer_for_a_selector_that_is_not_registered() -> None:
    bench = Bench({"a": EVEN})
    bench.live(frame(0, 10, 2))

    assert bench.ask("a", 0, 10, ODD) == ([(0, 10)], [])


def test_the_same_ticks_are_requested_once_for_all_children_that_wait() -> None:
    bench = Bench({"a": ALL, "b": ODD, "c": ALL})

    assert bench.ask("a", 0, 10) == ([(0, 10)], [])
    assert bench.ask("b", 0, 10) == ([], [])
    assert bench.ask("c", 5, 15) == ([(10, 15)], [])


def test_a_request_names_what_waits_behind_the_link_and_nothing_for_the_others() -> None:
    bench = Bench({"a": EVEN, "b": ODD})

    assert bench.ask("a", 0, 10) == ([(0, 10)], [])
    assert bench.asked == EVEN
    assert bench.ask("b", 0, 10) == ([(0, 10)], [])
    assert bench.asked == ODD


def test_an_answer_goes_to_the_children_that_wait_filtered_for_each() -> None:
    """A child that waits for less than was requested gets its part of the same answer."""
    bench = Bench({"a": ALL, "b": ODD, "c": EVEN})
    bench.ask("a", 0, 10)
    bench.ask("b", 5, 10)

    assert bench.answer(frame(0, 10, 2, 3, 6, 7)) == [
        ("a", Knowledge("p", frame(0, 10, 2, 3, 6, 7), LIVE_FILTER, origin=HERE)),
        ("b", Knowledge("p", frame(5, 10, 7), LIVE_FILTER, origin=HERE)),
    ]
    assert bench.answer(frame(0, 10, 2, 3)) == []


def test_a_request_that_waits_for_more_does_not_share_an_answer() -> None:
    bench = Bench({"a": EVEN, "b": ALL})
    bench.ask("a", 0, 10)
    bench.ask("b", 0, 10)

    assert bench.answer(frame(0, 10, 2), EVEN) == [
        ("a", Knowledge("p", frame(0, 10, 2), LIVE_FILTER, origin=HERE))
    ]
    assert bench.answer(frame(0, 10, 2, 3)) == [
        ("b", Knowledge("p", frame(0, 10, 2, 3), LIVE_FILTER, origin=HERE))
    ]


def test_the_cache_answers_a_union_of_which_it_holds_every_part() -> None:
    bench = Bench({"a": EVEN, "b": ODD})
    bench.live(frame(0, 10, 2, 3))

    assert bench.ask("a", 0, 10, f"{EVEN} OR {ODD}") == ([], [frame(0, 10, 2, 3)])


def test_a_request_that_named_a_selector_is_answered_for_that_selector_alone() -> None:
    bench = Bench({"a": ALL}, complete_from=1000)
    bench.ask("a", 0, 10, EVEN)
    bench.ask("a", 0, 10)

    answer = Knowledge("p", frame(0, 10, 2), EVEN, origin=HERE)
    assert bench.answer(frame(0, 10, 2, 3), EVEN) == [("a", answer)]
    assert len(bench.answer(frame(0, 10, 2, 3))) == 1


def test_a_request_is_answered_piece_by_piece() -> None:
    bench = Bench({"a": ALL})
    bench.ask("a", 0, 30)

    assert [message.frame for _, message in bench.answer(frame(10, 20, 15))] == [frame(10, 20, 15)]
    assert [message.frame for _, message in bench.answer(frame(0, 30, 5))] == [
        frame(0, 10, 5),
        frame(20, 30),
    ]


def test_the_same_ticks_go_up_again_only_after_a_pause() -> None:
    bench = Bench({"a": ALL}, nack_suppression_ns=500 * MILLISECOND)
    bench.ask("a", 0, 10)

    assert bench.ask("a", 0, 10, now=500 * MILLISECOND - 1)[0] == []
    assert bench.ask("a", 0, 10, now=500 * MILLISECOND)[0] == [(0, 10)]


def test_what_was_answered_may_be_asked_for_again_at_once() -> None:
    """The answer may have been lost on the way down."""
    bench = Bench({"a": ALL})
    bench.ask("a", 0, 10)
    bench.answer(frame(0, 10))

    assert bench.ask("a", 0, 10)[0] == [(0, 10)]


def test_what_lies_behind_an_answer_that_hit_a_limit_may_be_asked_for_at_once() -> None:
    """Otherwise every reader of the past would wait for the pause after each answer."""
    bench = Bench({"a": ALL})
    bench.ask("a", 0, 100)

    assert [m.more for _, m in bench.answer(frame(0, 40), more=True)] == [True]
    assert bench.ask("a", 40, 100)[0] == [(40, 100)]


def test_more_is_told_only_to_children_that_wait_for_more() -> None:
    bench = Bench({"a": ALL, "b": ALL})
    bench.ask("a", 0, 100)
    bench.ask("b", 0, 40)

    answers = bench.answer(frame(0, 40), more=True)
    assert [(link, message.more) for link, message in answers] == [("a", True), ("b", False)]


def test_after_a_change_of_the_way_up_everything_may_be_asked_for_again() -> None:
    bench = Bench({"a": ALL})
    bench.ask("a", 0, 10)
    bench.stream.forget_requests()

    assert bench.ask("a", 0, 10)[0] == [(0, 10)]


def test_nobody_waits_behind_a_link_that_is_gone() -> None:
    bench = Bench({"a": ALL})
    bench.ask("a", 0, 10)
    bench.stream.forget_link("a")

    assert bench.answer(frame(0, 10)) == []


def test_a_stranger_is_not_answered() -> None:
    bench = Bench({"a": ALL})
    bench.live(frame(0, 10, 2))

    assert bench.ask("stranger", 0, 10) == ([], [])


def test_a_query_goes_to_every_confirmed_child_as_control() -> None:
    bench = Bench({"a": ALL, "b": EVEN})
    bench.registrations.links["b"].confirmed = False
    query = DownstreamCongestionQuery("p", 1, 2, 3)
    out: list[Effect] = []
    bench.stream.query(query, out)

    assert out == [Send("a", query, Priority.CONTROL)]


def test_the_cache_is_bounded() -> None:
    bench = Bench({"a": ALL}, relay_cache_bytes=1000)
    for low in range(0, 10_000, 10):
        bench.live(frame(low, low + 10))

    assert bench.stream.cache_bytes <= 1000


def test_one_who_reads_the_past_gets_so_many_frames_of_the_cache_and_asks_again() -> None:
    bench = Bench({LOCAL_EDGE: ALL}, answer_frames=2)
    for low in range(0, 50, 10):
        bench.live(frame(low, low + 10, low))
    out: list[Effect] = []
    upward = bench.stream.request(LOCAL_EDGE, Nack("p", ((0, 50),), ALL, 1 << 20), 0, out)

    assert upward is None
    assert [effect.message for effect in sends(out)] == [
        Knowledge("p", frame(0, 10, 0), ALL, origin=HERE),
        Knowledge("p", frame(10, 20, 10), ALL, more=True, origin=HERE),
    ]
    _, found = bench.ask(LOCAL_EDGE, 0, 50)
    assert len(found) == 5, "a live stream gets all that it asks for"


# -- recoveries that share ------------------------------------------------------------------

LATE = 10_000 * MILLISECOND


def test_what_one_child_was_given_serves_the_next_filtered_for_it() -> None:
    bench = Bench({"a": ALL, "b": EVEN}, complete_from=100, kept_answers_bytes=1 << 20)
    bench.ask("a", 0, 10)
    bench.answer(frame(0, 6, 1, 2, 3, 4))

    upward, answered = bench.ask("b", 0, 10, now=LATE)

    assert upward == [], "the rest is under way to the other child"
    assert [list(part.ticks) for part in answered] == [[2, 4]]
    assert [(part.low, part.high) for part in answered] == [(0, 6)]


def test_a_narrow_answer_does_not_serve_a_child_that_wants_more() -> None:
    bench = Bench({"a": EVEN, "b": ALL}, complete_from=100, kept_answers_bytes=1 << 20)
    bench.ask("a", 0, 10)
    bench.answer(frame(0, 10, 2), bench.asked)

    assert bench.ask("b", 0, 10, now=LATE) == ([(0, 10)], [])


def test_a_child_waits_with_the_others_however_long_the_answer_takes() -> None:
    bench = Bench({"a": ALL, "b": ALL}, complete_from=100)
    bench.ask("a", 0, 10)

    assert bench.ask("b", 5, 15, now=LATE) == ([(10, 15)], [])

    assert {link for link, _ in bench.answer(frame(0, 15, 7))} == {"a", "b"}


def test_a_child_that_asks_again_is_not_held_back_by_the_others() -> None:
    """The request, or its answer, may be lost."""
    bench = Bench({"a": ALL, "b": ALL}, complete_from=100)
    bench.ask("a", 0, 10)
    bench.ask("b", 0, 10, now=LATE)

    assert bench.ask("b", 0, 10, now=2 * LATE) == ([(0, 10)], [])


def test_a_relay_with_one_child_keeps_no_answers() -> None:
    bench = Bench({"a": ALL}, complete_from=100, kept_answers_bytes=1 << 20)
    bench.ask("a", 0, 10)
    bench.answer(frame(0, 10, 7))

    assert bench.ask("a", 0, 10, now=LATE) == ([(0, 10)], [])


# -- where answers come from ----------------------------------------------------------------


def origins(told: list[tuple[str, Knowledge]]) -> dict[str, AnswerOrigin | None]:
    return {link: message.origin for link, message in told}


def test_an_answer_says_how_long_it_was_under_way_before_a_child_waited_for_it() -> None:
    """Otherwise the second child would find the way shorter than it is."""
    bench = Bench({"a": ALL, "b": ALL})
    bench.ask("a", 0, 10, now=5)
    assert bench.ask("b", 0, 10, now=9) == ([], [])

    told = bench.answer(frame(0, 10, 2), origin=AnswerOrigin(links=2, ahead_ns=30))
    assert origins(told) == {"a": AnswerOrigin(2, 30), "b": AnswerOrigin(2, 34)}


def test_a_child_that_asks_for_more_waits_from_the_first_request_on() -> None:
    bench = Bench({"a": ALL, "b": ALL})
    bench.ask("a", 0, 10, now=5)
    assert bench.ask("b", 0, 20, now=9) == ([(10, 20)], [])

    assert origins(bench.answer(frame(0, 10, 2))) == {"a": HERE, "b": AnswerOrigin(0, 4)}
    assert origins(bench.answer(frame(10, 20, 12))) == {"b": HERE}


def test_what_the_relay_remembers_has_come_over_no_link() -> None:
    bench = Bench({"a": ALL, "b": ALL}, kept_answers_bytes=1 << 20)
    bench.ask("a", 0, 10)
    bench.answer(frame(0, 10, 2), origin=AnswerOrigin(links=3))
    out: list[Effect] = []
    nack = Nack("p", ((0, 10),), LIVE_FILTER, recovers=True)
    assert bench.stream.request("b", nack, 7, out) is None

    assert [effect.message.origin for effect in sends(out)] == [HERE]
