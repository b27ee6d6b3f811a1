"""A pubend's promises: order, persist before speak, repeats, recovery, silence, trimming."""

from __future__ import annotations

from typing import Any

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import FRAME_HEADER_BYTES, Frame
from penstock.core.clock import SECOND
from penstock.core.machine import (
    Effect,
    LogRead,
    Persist,
    PersistFailed,
    PersistState,
    ReadLog,
    Send,
    TrimLog,
)
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.messages import (
    DurableClaim,
    LogEntry,
    Publish,
    PublishReceipt,
    PublishRefused,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.source.holds import Holds
from penstock.services.guaranteed.source.pubend import Pubend
from penstock.services.guaranteed.source.stream_writer import SILENT

START = 100 * SECOND
QUIET = CongestionParameters(pdcc=False)


def batch(first: int, count: int) -> Batch:
    return Batch.from_rows([({"n": number}, b"") for number in range(first, first + count)])


def numbers(frames: list[Frame]) -> list[int]:
    return [row["n"] for frame in frames for row in frame.batch.attribute_rows()]  # type: ignore[misc]


class Bench:
    """A pubend with a store whose answers the test gives by hand."""

    def __init__(
        self,
        *,
        bounds: tuple[int, int, int] | None = None,
        saved: bytes | None = None,
        beginning: bytes | None = None,
        now: int = START,
        **parameters: Any,
    ) -> None:
        self.holds = Holds()
        self.pubend = Pubend(
            "p",
            GuaranteedParameters(**{"congestion": QUIET, **parameters}),
            Tokens(),
            log_bounds=bounds,
            saved_producers=saved,
            holds=self.holds,
            query_phase=0.0,
            now=now,
            saved_beginning=beginning,
        )
        self.now = now
        self.spoken: list[Frame] = []

    def publish(self, first: int, count: int, producer: str = "a") -> list[Effect]:
        out: list[Effect] = []
        message = Publish(producer, first, batch(first, count))
        self.pubend.publishing.publish("session", message, self.now, out)
        self.pubend.check_invariants()
        return out

    def resolve(self, token: int, failure: str = "", *, uncertain: bool = False) -> list[Effect]:
        out: list[Effect] = []
        failed = PersistFailed(token, failure, uncertain) if failure else None
        self.spoken += self.pubend.writer.resolved(token, failed, self.now, out)
        self.pubend.check_invariants()
        return out

    def store(self, first: int, count: int, producer: str = "a") -> list[Effect]:
        """Publish, and let the disk do its work."""
        return [
            reply
            for effect in self.publish(first, count, producer)
            if isinstance(effect, Persist)
            for reply in self.resolve(effect.token)
        ]

    def deadline(self, now: int) -> list[Effect]:
        self.now = now
        out: list[Effect] = []
        self.pubend.deadline(now, out)
        self.pubend.check_invariants()
        return out


def only_persist(effects: list[Effect]) -> Persist:
    (persist,) = effects
    assert isinstance(persist, Persist)
    return persist


def replies(effects: list[Effect]) -> list[Any]:
    return [effect.message for effect in effects if isinstance(effect, Send)]


# -- ticks ----------------------------------------------------------------------------------


def test_rows_take_consecutive_ticks_from_the_present_on() -> None:
    bench = Bench()
    bench.now += 50
    entry = only_persist(bench.publish(0, 3)).frame

    assert entry == LogEntry(
        "a", 0, Frame(START, START + 53, range(START + 50, START + 53), batch(0, 3))
    )


def test_ticks_never_go_back_when_rows_come_faster_than_the_clock() -> None:
    bench = Bench()
    first = only_persist(bench.publish(0, 10)).frame.frame
    second = only_persist(bench.publish(10, 5)).frame.frame

    assert list(first.ticks) == list(range(START, START + 10))
    assert list(second.ticks) == list(range(START + 10, START + 15))
    assert second.low == first.high


# -- persist before speak -------------------------------------------------------------------


def test_nothing_is_said_before_it_is_durable() -> None:
    bench = Bench()
    persist = only_persist(bench.publish(0, 2))
    assert bench.pubend.spoken_end == START

    out = bench.resolve(persist.token)
    assert numbers(bench.spoken) == [0, 1]
    assert replies(out) == [PublishReceipt("a", 0, 2, START)]


def test_receipts_and_data_leave_in_the_order_of_ticks() -> None:
    bench = Bench()
    first = only_persist(bench.publish(0, 1)).token
    second = only_persist(bench.publish(1, 1)).token

    assert bench.resolve(second) == []
    assert bench.spoken == []
    out = bench.resolve(first)
    assert numbers(bench.spoken) == [0, 1]
    assert [reply.first_sequence for reply in replies(out)] == [0, 1]


def test_a_refused_publication_leaves_silence_and_can_be_repeated() -> None:
    bench = Bench()
    refused = only_persist(bench.publish(0, 5)).token
    kept = only_persist(bench.publish(5, 1)).token

    assert replies(bench.resolve(refused, "the disk is full")) == [
        PublishRefused("a", 0, 5, "the disk is full")
    ]
    bench.resolve(kept)
    (frame,) = bench.spoken
    assert (frame.low, list(frame.ticks)) == (START, [START + 5])

    assert replies(bench.store(0, 5)) == [PublishReceipt("a", 0, 5, START + 6)]
    assert numbers(bench.spoken) == [5, 0, 1, 2, 3, 4]


# -- repeats --------------------------------------------------------------------------------


def test_a_repeat_is_confirmed_and_not_stored_again() -> None:
    bench = Bench()
    bench.store(0, 3)
    out = bench.publish(0, 3)

    assert replies(out) == [PublishReceipt("a", 0, 3, 0)]
    assert len(out) == 1
    assert numbers(bench.spoken) == [0, 1, 2]


def test_of_a_partial_repeat_only_the_new_rows_are_stored() -> None:
    bench = Bench()
    bench.store(0, 3)
    persist = only_persist(bench.publish(1, 4))
    assert persist.frame.first_sequence == 3

    assert replies(bench.resolve(persist.token)) == [PublishReceipt("a", 1, 4, 0)]
    assert numbers(bench.spoken) == [0, 1, 2, 3, 4]


def test_a_repeat_is_not_confirmed_before_the_first_attempt_is_durable() -> None:
    bench = Bench()
    first = only_persist(bench.publish(0, 2)).token
    assert bench.publish(0, 2) == []

    assert len(replies(bench.resolve(first))) == 2
    assert numbers(bench.spoken) == [0, 1]


def test_a_repeat_of_what_is_then_refused_is_refused_too() -> None:
    bench = Bench()
    bench.store(0, 2)
    second = only_persist(bench.publish(2, 2)).token
    assert bench.publish(0, 4) == []

    out = replies(bench.resolve(second, "the disk is full"))
    assert [type(each) for each in out] == [PublishRefused, PublishReceipt, PublishRefused]
    assert out[1] == PublishReceipt("a", 0, 2, 0)
    assert (out[2].first_sequence, out[2].count) == (2, 2)


def test_producers_are_apart() -> None:
    bench = Bench()
    bench.store(0, 1, "a")
    bench.store(0, 1, "b")

    assert numbers(bench.spoken) == [0, 0]
    assert bench.pubend.next_sequence("b") == 1


# -- recovery -------------------------------------------------------------------------------


def test_after_a_crash_repeats_are_known_from_the_log() -> None:
    bench = Bench(bounds=(START, START + 20, 500), now=START + SECOND)
    (read,) = bench.pubend.start()
    assert read == ReadLog(1, "pubend/p", START, START + 20, 1 << 20)
    assert not bench.pubend.ready
    assert bench.publish(0, 4) == []

    entries = (
        LogEntry("a", 0, Frame(START, START + 10, range(START + 6, START + 10), batch(0, 4))),
        LogEntry(SILENT, 0, Frame(START + 10, START + 20)),
    )
    out: list[Effect] = []
    assert bench.pubend.log_read(LogRead(1, entries, START + 20), bench.now, out) is None

    assert bench.pubend.ready
    assert replies(out) == [PublishReceipt("a", 0, 4, 0)]


def test_the_log_is_read_only_from_where_the_saved_table_stops() -> None:
    before = Bench()
    before.store(0, 4)
    (saved,) = [
        effect.values["pubend/p/producers"]
        for effect in before.deadline(START + 10 * SECOND)
        if isinstance(effect, PersistState)
    ]
    end = before.pubend.spoken_end
    bench = Bench(bounds=(START, end + 7, 500), saved=saved, now=START + 20 * SECOND)

    (read,) = bench.pubend.start()
    assert isinstance(read, ReadLog)
    assert (read.low, read.high) == (end, end + 7)
    bench.pubend.log_read(LogRead(read.token, (), end + 7), bench.now, [])
    assert bench.pubend.next_sequence("a") == 4


def test_a_pubend_that_never_pauses_saves_its_producers_without_what_may_yet_be_refused() -> None:
    before = Bench()
    before.store(0, 4)
    before.publish(4, 2)
    (saved,) = [
        effect.values["pubend/p/producers"]
        for effect in before.deadline(START + 10 * SECOND)
        if isinstance(effect, PersistState)
    ]
    bench = Bench(bounds=(START, before.pubend.spoken_end, 0), saved=saved, now=START + SECOND)

    assert bench.pubend.start() == []
    assert bench.pubend.next_sequence("a") == 4
    assert [e for e in before.deadline(START + 20 * SECOND) if isinstance(e, PersistState)]


def test_a_long_log_is_read_in_pieces() -> None:
    bench = Bench(bounds=(START, START + 20, 500), now=START + SECOND)
    bench.pubend.start()
    out: list[Effect] = []
    entry = LogEntry("a", 0, Frame(START, START + 10, range(START, START + 10), batch(0, 10)))
    bench.pubend.log_read(LogRead(1, (entry,), START + 10), bench.now, out)

    assert out == [ReadLog(2, "pubend/p", START + 10, START + 20, 1 << 20)]
    assert not bench.pubend.ready


def test_a_new_pubend_has_nothing_to_read() -> None:
    bench = Bench()

    assert not any(isinstance(effect, ReadLog) for effect in bench.pubend.start())
    assert bench.pubend.ready


# -- silence --------------------------------------------------------------------------------


def test_an_idle_pubend_says_that_it_is_silent_once_that_is_durable() -> None:
    bench = Bench()
    assert bench.pubend.next_deadline() == START + SECOND
    persists = [e for e in bench.deadline(START + SECOND) if isinstance(e, Persist)]
    (persist,) = persists

    assert persist.frame == LogEntry(SILENT, 0, Frame(START, START + SECOND))
    assert bench.spoken == []
    bench.resolve(persist.token)
    assert bench.spoken == [Frame(START, START + SECOND)]


def test_a_busy_pubend_says_no_silence() -> None:
    bench = Bench()
    bench.now = START + SECOND // 2
    bench.store(0, 1)

    assert not any(isinstance(e, Persist) for e in bench.deadline(START + SECOND))


# -- answering from the log -----------------------------------------------------------------


def read(bench: Bench, low: int, high: int) -> ReadLog:
    out: list[Effect] = []
    bench.pubend.request(low, high, "TRUE", out)
    (order,) = out
    assert isinstance(order, ReadLog)
    return order


def test_a_reader_of_the_past_is_answered_in_pieces_of_so_many_frames() -> None:
    bench = Bench(answer_frames=7)
    bench.now += 10
    bench.store(0, 2)
    out: list[Effect] = []
    bench.pubend.request(START, START + 10, "TRUE", out, max_bytes=500)

    (order,) = out
    assert isinstance(order, ReadLog)
    assert (order.max_bytes, order.max_frames) == (500, 7)
    assert read(bench, START, START + 10).max_frames == 0


def test_a_request_is_answered_with_contiguous_knowledge() -> None:
    bench = Bench()
    bench.now += 10
    bench.store(0, 2)
    bench.now += 10
    bench.store(2, 1)
    order = read(bench, START + 5, START + 1000)
    assert order.high == bench.pubend.spoken_end == START + 21
    entries = tuple(LogEntry("a", 0, frame) for frame in bench.spoken)

    answer = bench.pubend.log_read(LogRead(order.token, entries, START + 21), bench.now, [])

    assert answer is not None
    assert not answer.more
    assert [(frame.low, frame.high) for frame in answer.frames] == [
        (START + 5, START + 12),
        (START + 12, START + 21),
    ]
    assert numbers(answer.frames) == [0, 1, 2]


def test_an_answer_that_hit_the_limit_says_that_there_is_more() -> None:
    bench = Bench()
    bench.store(0, 5)
    order = read(bench, START, START + 5)
    answer = bench.pubend.log_read(
        LogRead(order.token, (LogEntry("a", 0, bench.spoken[0]),), START + 2), bench.now, []
    )

    assert answer is not None
    assert answer.more
    assert [(frame.low, frame.high) for frame in answer.frames] == [(START, START + 2)]


def test_ticks_below_the_log_are_final() -> None:
    bench = Bench(bounds=(START, START + 20, 500), now=START + SECOND)
    bench.pubend.start()
    bench.pubend.log_read(LogRead(1, (), START + 20), bench.now, [])
    order = read(bench, START - 50, START + 5)
    answer = bench.pubend.log_read(LogRead(order.token, (), START + 5), bench.now, [])

    assert answer is not None
    assert answer.frames == [Frame(START - 50, START, final=True), Frame(START, START + 5)]


def test_what_is_not_durable_cannot_be_asked_for() -> None:
    bench = Bench()
    bench.publish(0, 5)
    out: list[Effect] = []
    bench.pubend.request(START, START + 5, "TRUE", out)

    assert out == []


# -- trimming and limits --------------------------------------------------------------------


def trims(bench: Bench, until: int) -> list[TrimLog]:
    found: list[TrimLog] = []
    for now in range(bench.now + SECOND, until + 1, SECOND):
        for effect in bench.deadline(now):
            if isinstance(effect, Persist):
                bench.resolve(effect.token)
            elif isinstance(effect, TrimLog):
                found.append(effect)
    return found


def test_what_is_acknowledged_and_old_is_trimmed() -> None:
    bench = Bench(retain_for_ns=10 * SECOND, hold_expiry_ns=SECOND)
    bench.store(0, 5)
    assert trims(bench, START + 10 * SECOND) == []

    (first, *_) = trims(bench, START + 12 * SECOND)
    assert first.log == "pubend/p"
    assert bench.pubend.log_start >= START + 5


def test_after_a_start_edges_have_time_to_say_what_they_need_before_anything_is_trimmed() -> None:
    bench = Bench(retain_for_ns=SECOND, hold_expiry_ns=20 * SECOND)
    bench.store(0, 5)
    assert trims(bench, START + 19 * SECOND) == []

    assert trims(bench, START + 25 * SECOND)


def test_a_log_that_is_nearly_full_is_trimmed_at_once_after_a_start() -> None:
    bench = Bench(retain_for_ns=SECOND, log_limit_bytes=10 * FRAME_HEADER_BYTES)
    bench.store(0, 5)

    assert trims(bench, START + 30 * SECOND)


def test_what_somebody_needs_is_not_trimmed_however_old() -> None:
    bench = Bench(retain_for_ns=SECOND)
    bench.holds.claim_durable("edge", DurableClaim(START + 2, "cursor 'c'"))
    bench.store(0, 5)

    assert trims(bench, START + 30 * SECOND) == []
    assert bench.pubend.log_start == START


def test_an_acknowledged_log_that_is_large_is_trimmed_before_it_is_old() -> None:
    bench = Bench(retain_bytes=10 * FRAME_HEADER_BYTES, hold_expiry_ns=SECOND)

    assert trims(bench, START + 30 * SECOND)
    assert bench.pubend.log_bytes <= 12 * FRAME_HEADER_BYTES


def test_a_full_log_refuses_and_names_who_holds_it() -> None:
    bench = Bench(log_limit_bytes=1)
    bench.holds.claim_durable("edge-7", DurableClaim(START, "durable subscription 'gone'"))
    (reply,) = replies(bench.publish(0, 1))

    assert isinstance(reply, PublishRefused)
    assert "log_limit_bytes (1)" in reply.reason
    assert "durable subscription 'gone' at broker 'edge-7'" in reply.reason


def test_a_claim_that_is_released_frees_the_log_at_once() -> None:
    bench = Bench(retain_for_ns=SECOND, hold_expiry_ns=SECOND)
    bench.holds.claim_durable("edge", DurableClaim(START, "cursor 'c'"))
    bench.store(0, 5)
    assert trims(bench, START + 10 * SECOND) == []

    bench.holds.claim_durable("edge", None)
    bench.pubend.retention.claim_released(bench.now)
    assert bench.pubend.next_deadline() == bench.now
    assert any(isinstance(effect, TrimLog) for effect in bench.deadline(bench.now))


def test_more_than_the_submit_limit_is_refused() -> None:
    bench = Bench(submit_limit_bytes=2 * batch(0, 1).wire_size + FRAME_HEADER_BYTES)
    only_persist(bench.publish(0, 1))
    only_persist(bench.publish(1, 1))
    (reply,) = replies(bench.publish(2, 1))

    assert isinstance(reply, PublishRefused)
    assert "publish buffer is full" in reply.reason


# -- the gate -------------------------------------------------------------------------------


def test_a_publication_waits_for_the_gate_and_says_how_long() -> None:
    bench = Bench()
    bench.pubend.control.admission.set_rate(1.0, START)
    bench.store(0, 1)
    assert bench.publish(1, 1) == []
    assert bench.pubend.waiting == 1
    assert bench.pubend.next_deadline() == START + SECOND

    (persist,) = [e for e in bench.deadline(START + SECOND) if isinstance(e, Persist)]
    (receipt,) = replies(bench.resolve(persist.token))
    assert receipt.waited_ns == SECOND


def test_what_waits_of_a_publisher_that_is_gone_is_forgotten() -> None:
    bench = Bench()
    bench.pubend.control.admission.set_rate(1.0, START)
    bench.store(0, 1)
    bench.publish(1, 1)
    bench.pubend.producer_left("session", "a")

    assert bench.pubend.waiting == 0
    assert not [
        e for e in bench.deadline(START + SECOND) if isinstance(e, Persist) and e.frame.producer
    ]


def test_a_stream_begins_where_it_began_before_a_crash_that_found_nothing_logged() -> None:
    first = Bench().pubend
    [saved] = first.start()
    assert isinstance(saved, PersistState)
    again = Bench(beginning=saved.values["pubend/p/beginning"], now=START + SECOND).pubend
    assert (again.log_start, again.spoken_end) == (START, START)
    assert again.start() == []


def test_a_log_that_was_found_says_itself_where_it_begins() -> None:
    pubend = Bench(bounds=(START + 5, START + 9, 100), beginning=START.to_bytes(8, "big")).pubend
    assert (pubend.log_start, pubend.spoken_end) == (START + 5, START + 9)


# -- publishers of one name -----------------------------------------------------------------


def test_who_has_a_name_is_as_durable_as_its_numbers() -> None:
    before = Bench()
    assert before.pubend.open("a", 7, resumes=False)
    entry = only_persist(before.publish(0, 3)).frame
    assert entry.instance == 7

    bench = Bench(bounds=(START, entry.frame.high, 100))
    (read,) = bench.pubend.start()
    assert isinstance(read, ReadLog)
    bench.pubend.log_read(LogRead(read.token, (entry,), entry.frame.high), START, [])
    assert not bench.pubend.open("a", 6, resumes=True)
    assert bench.pubend.open("a", 7, resumes=True)


def test_who_has_a_name_is_saved_with_the_producers() -> None:
    before = Bench(producer_checkpoint_ns=SECOND)
    before.store(0, 3)
    before.pubend.open("a", 7, resumes=False)
    orders = [e for e in before.deadline(START + SECOND) if isinstance(e, PersistState)]
    (saved,) = [order.values["pubend/p/producers"] for order in orders]

    bench = Bench(saved=saved, bounds=(START, START + 3, 100))
    assert not bench.pubend.open("a", 6, resumes=True)


# -- a failed sync ----------------------------------------------------------------------------


def test_what_a_failed_sync_was_to_store_is_uncertain_and_closes_the_pubend() -> None:
    bench = Bench()
    bench.store(0, 2)
    first = only_persist(bench.publish(2, 1))
    second = only_persist(bench.publish(3, 1))
    assert replies(bench.resolve(first.token, "EIO", uncertain=True)) == [
        PublishRefused("a", 2, 1, "EIO", uncertain=True)
    ]
    # It was ordered and never written: a refusal, which is certain.
    assert replies(bench.resolve(second.token, "closed")) == [PublishRefused("a", 3, 1, "closed")]
    (later,) = replies(bench.publish(4, 1))
    assert not later.uncertain
    assert "takes nothing more until the broker is started again: EIO" in later.reason
    assert numbers(bench.spoken) == [0, 1]
    # It says nothing more of its stream, silence included.
    assert not [each for each in bench.deadline(START + 60 * SECOND) if isinstance(each, Persist)]


def test_a_repeat_of_what_is_uncertain_is_uncertain_too() -> None:
    bench = Bench()
    persist = only_persist(bench.publish(0, 3))
    bench.resolve(persist.token, "EIO", uncertain=True)
    (repeat,) = replies(bench.publish(1, 5))
    assert (repeat.first_sequence, repeat.count, repeat.uncertain) == (1, 5, True)
    (other,) = replies(bench.publish(0, 3, producer="b"))
    assert not other.uncertain


def test_publications_that_wait_when_the_sync_fails_are_refused() -> None:
    bench = Bench()
    persist = only_persist(bench.publish(0, 1))
    bench.pubend.control.admission.set_rate(1.0, START)
    bench.pubend.control.admission.passed(1, START)
    assert bench.publish(1, 1) == []
    bench.resolve(persist.token, "EIO", uncertain=True)
    (refused,) = replies(bench.deadline(START + SECOND))
    assert (refused.first_sequence, refused.uncertain) == (1, False)


# -- damage -----------------------------------------------------------------------------------


def test_a_damaged_interval_is_answered_as_final_and_what_follows_as_it_is() -> None:
    bench = Bench(bounds=(100, 200, 1000))
    entry = LogEntry("a", 0, Frame(100, 120, range(110, 112), batch(0, 2)))
    later = LogEntry("a", 5, Frame(150, 170, range(160, 162), batch(5, 2)))
    (recovery,) = bench.pubend.start()
    assert isinstance(recovery, ReadLog)
    read = LogRead(recovery.token, (entry, later), 200, 100, ((120, 150),))
    assert bench.pubend.log_read(read, START, []) is None
    assert bench.pubend.ready, "what is damaged does not keep the pubend from starting"
    # The numbers of the lost rows are free: who repeats them has them stored.
    assert bench.pubend.next_sequence("a") == 7
    out: list[Effect] = []
    bench.pubend.request(105, 200, "", out)
    (order,) = out
    assert isinstance(order, ReadLog)
    answer = bench.pubend.log_read(
        LogRead(order.token, (entry, later), 200, 105, ((120, 150),)), START, []
    )
    assert answer is not None
    assert [(each.low, each.high, len(each), each.final) for each in answer.frames] == [
        (105, 120, 2, False),
        (120, 150, 0, True),
        (150, 170, 2, False),
        (170, 200, 0, False),
    ]
    (problem,) = bench.pubend.problems(START)
    assert "[120, 150)" in problem
    assert list(bench.pubend.lost) == [(120, 150)]


def test_an_answer_may_be_lost_altogether() -> None:
    bench = Bench(bounds=(100, 200, 1000))
    out: list[Effect] = []
    bench.pubend.request(120, 140, "", out)
    (order,) = out
    assert isinstance(order, ReadLog)
    answer = bench.pubend.log_read(LogRead(order.token, (), 140, 120, ((110, 150),)), START, [])
    assert answer is not None
    assert answer.frames == [Frame(120, 140, final=True)]


def test_a_repeat_of_what_is_stored_is_confirmed_even_if_there_is_no_room() -> None:
    bench = Bench(log_limit_bytes=200)
    bench.store(0, 2)
    (refused,) = replies(bench.publish(2, 100))
    assert isinstance(refused, PublishRefused)
    assert "log_limit_bytes" in refused.reason
    (confirmed,) = replies(bench.publish(0, 2))
    assert confirmed == PublishReceipt("a", 0, 2, 0, 0)


def test_a_publisher_with_a_long_backlog_leaves_room_for_the_others() -> None:
    limit = 100 * batch(0, 1).wire_size
    bench = Bench(submit_limit_bytes=limit, congestion=QUIET)
    bench.pubend.control.admission.set_rate(0.001, bench.now)
    refused = []
    for number in range(60):
        refused += replies(bench.publish(number, 1, "flood"))
    assert all("a quarter of submit_limit_bytes" in each.reason for each in refused)
    assert 30 <= len(refused) <= 40

    assert replies(bench.publish(0, 1, "honest")) == []
