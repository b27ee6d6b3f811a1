from __future__ import annotations

from penstock.core.clock import SECOND
from penstock.core.machine import Effect, PersistFailed, PersistState, Priority, Send
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.edge.cursors import Cursors
from penstock.services.guaranteed.messages import CursorMoved, DurableClaim, MoveCursor

NOW = 100
HOLDS_NS = SECOND
"""Further back than any tick here, seen from ``NOW``."""


class Bench:
    """Cursors with a disk that does what it is told when it is told to."""

    def __init__(self, limit: int = 10) -> None:
        self.limit = limit
        self.disk: dict[str, bytes] = {}
        self.unsaved: list[PersistState] = []
        self.fresh: tuple[str, ...] = ()
        self.restart()

    def restart(self) -> None:
        self.unsaved.clear()
        self.cursors = Cursors(self.limit, Tokens(), self.disk, holds_ns=HOLDS_NS)

    def move(self, name: str, *, forget: bool = False, **ticks: int) -> list[Effect]:
        out: list[Effect] = []
        self.cursors.move("job", MoveCursor(name, ticks, forget), 0, out)
        self.unsaved += [effect for effect in out if isinstance(effect, PersistState)]
        return [effect for effect in out if not isinstance(effect, PersistState)]

    def state(self, name: str) -> tuple[dict[str, int], int | None] | None:
        state = self.cursors.state(name)
        return None if state is None else (state.ticks, state.moved_at)

    def save(self, failure: str = "") -> list[CursorMoved]:
        out: list[Effect] = []
        for order in self.unsaved:
            for key, value in order.values.items():
                if not failure and value is None:
                    self.disk.pop(key)
                elif not failure and value is not None:
                    self.disk[key] = value
            failed = PersistFailed(order.token, failure) if failure else None
            moved = self.cursors.resolved(order.token, failed, out)
            if moved is not None:
                confirmation, self.fresh = moved
                out.append(confirmation)
        self.unsaved.clear()
        assert all(isinstance(effect, Send) and effect.link == "job" for effect in out)
        return [effect.message for effect in out if isinstance(effect, Send)]

    def claim(self, pubend: str, now: int = NOW) -> int | None:
        lowest = self.cursors.lowest(pubend, now)
        return None if lowest is None else lowest.tick


def test_a_cursor_claims_what_is_saved() -> None:
    bench = Bench()
    assert bench.move("c", p=5) == []
    assert bench.claim("p") is None
    assert bench.save() == [CursorMoved("c", {"p": 5})]
    assert bench.claim("p") == 5
    assert bench.claim("q") is None
    assert bench.fresh == ("p",)
    bench.move("c", p=6)
    bench.save()
    assert bench.fresh == ()


def test_a_cursor_only_moves_forward() -> None:
    bench = Bench()
    bench.move("c", p=5, q=7)
    bench.save()
    bench.move("c", p=3, q=8)
    assert bench.save() == [CursorMoved("c", {"p": 5, "q": 8})]


def test_a_cursor_survives_a_restart() -> None:
    bench = Bench()
    bench.move("c", p=5)
    bench.save()
    bench.move("c", p=9)
    bench.restart()
    assert bench.claim("p") == 5


def test_a_cursor_that_is_forgotten_holds_nothing() -> None:
    bench = Bench()
    bench.move("c", p=5)
    bench.save()
    bench.move("c", forget=True)
    assert bench.save() == [CursorMoved("c", {})]
    assert bench.claim("p") is None
    bench.restart()
    assert bench.claim("p") is None


def test_a_disk_that_refuses_leaves_the_cursor_where_it_was() -> None:
    bench = Bench()
    bench.move("c", p=5)
    bench.save()
    bench.move("c", p=9)
    assert bench.save("the disk is full") == [
        CursorMoved("c", {"p": 5}, problem="the disk is full")
    ]
    assert bench.claim("p") == 5


def test_a_cursor_is_not_larger_than_it_may_be() -> None:
    bench = Bench()
    refusals = [
        *bench.move("c" * 513, p=5),
        *bench.move("c", **{f"p{n}": 1 for n in range(10_001)}),
    ]
    assert len(refusals) == 2
    assert not bench.unsaved


def test_there_is_a_bound_on_cursors() -> None:
    bench = Bench(limit=1)
    bench.move("c", p=5)
    bench.save()
    refusal = CursorMoved("d", problem="this broker already keeps 1 cursors, the most allowed")
    assert bench.move("d", p=5) == [Send("job", refusal, Priority.CONTROL)]
    assert bench.move("c", p=6) == []


def test_a_cursor_that_is_not_moved_releases_what_is_too_old() -> None:
    bench = Bench()
    bench.move("given up", p=5)
    bench.move("in use", p=SECOND + 3)
    bench.save()
    assert bench.cursors.lowest("p", SECOND + 5) == DurableClaim(5, "cursor 'given up'")
    assert bench.claim("p", SECOND + 6) == 6
    assert bench.claim("p", 3 * SECOND) == 2 * SECOND


def test_a_cursor_tells_where_it_stands_and_when_it_was_moved() -> None:
    bench = Bench()
    assert bench.state("job") is None
    bench.move("job", p=5)
    bench.save()
    assert bench.state("job") == ({"p": 5}, 0)
    bench.restart()
    assert bench.state("job") == ({"p": 5}, None)
    bench.move("job", forget=True)
    bench.save()
    assert bench.state("job") is None
