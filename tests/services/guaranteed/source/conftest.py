"""A pubend with a store whose answers the test gives by hand."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND
from penstock.core.machine import (
    Effect,
    Persist,
    PersistFailed,
)
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.messages import (
    Publish,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.source.holds import Holds
from penstock.services.guaranteed.source.pubend import Pubend

START = 100 * SECOND
QUIET = CongestionParameters(pdcc=False)


def batch(first: int, count: int) -> Batch:
    return Batch.from_rows([({"n": number}, b"") for number in range(first, first + count)])


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
        self.spoken += self.pubend.resolved(token, failed, self.now, out)
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


@pytest.fixture
def pubend_bench() -> type[Bench]:
    """The class, to be made as the test needs it."""
    return Bench
