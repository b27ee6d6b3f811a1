"""The parts of a staging, on the pubends of a broker whose disk is played by the test."""

from __future__ import annotations

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND
from penstock.core.machine import Effect, Send
from penstock.core.message import Message
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.source.hosted_pubends import HostedPubends
from penstock.services.guaranteed.staging.commits import Commits
from penstock.services.guaranteed.staging.epoch_publisher import EpochPublisher
from penstock.services.guaranteed.staging.pubend_gate import StagingGate
from penstock.services.guaranteed.staging.sinks import Sinks
from penstock.services.guaranteed.staging.staged_rows import StagedRows

NOW = 1000 * SECOND


class StagingParts:
    """Sinks, staged rows, commits and publisher as a ``Staging`` connects them."""

    def __init__(self, pubends: tuple[str, ...] = ("p",), **parameters: int) -> None:
        used = GuaranteedParameters(**parameters)  # type: ignore[arg-type]
        tokens = Tokens()
        self.now = NOW
        self.out: list[Effect] = []
        self.hosted = HostedPubends("b", pubends, used, tokens, saved={}, logs={}, now=NOW)
        self.gate = StagingGate(self.hosted)
        self.sinks = Sinks(10, {})
        self.rows = StagedRows(used, tokens, self.sinks, 0)
        self.commits = Commits(tokens, self.sinks, self.rows.table, self.gate)
        self.publisher = EpochPublisher(tokens, self.sinks, self.gate, piece_bytes=1 << 20)

    def take(self) -> list[Effect]:
        """The effects since the last time."""
        taken, self.out = self.out, []
        return taken

    def said(self) -> list[tuple[str, Message]]:
        """What was sent since the last time."""
        return [(each.link, each.message) for each in self.take() if isinstance(each, Send)]

    @staticmethod
    def batch(count: int) -> Batch:
        return Batch.from_rows([({"n": number}, b"") for number in range(count)])


@pytest.fixture
def staging_parts() -> type[StagingParts]:
    """The class, to be made as the test needs it."""
    return StagingParts
