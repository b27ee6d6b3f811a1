"""Takes the statements of edges about their claims, and saves the claims on all logs of a source.

1. An edge's statement (``Acknowledgement``) replaces its claims on every log of the source.
2. Statements of one start of an edge are numbered; one that arrives after a later one is ignored.
3. Changed claims are saved.  An edge that asks for confirmation is told when everything that it
   claimed is on disk: only then may it promise its subscribers that nothing is trimmed before they
   have consumed it.
4. If saving failed, the next statement saves again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from penstock.core.clock import Instant
from penstock.core.machine import Effect, PersistFailed, PersistState
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.messages import Acknowledgement, ClaimsSaved
from penstock.services.guaranteed.source.holds import MAX_EDGES
from penstock.services.guaranteed.source.pubend import Pubend

HOLDS: Final = "holds"
"""The owner of the orders to the store that are given here."""


class _Saving(msgspec.Struct):
    """One write of changed claims, and the answers that wait for it."""

    logs: tuple[str, ...]
    waiting: list[ClaimsSaved]


class SourceHolds:
    """The claims of all edges on the pubends of one broker."""

    def __init__(self, tokens: Tokens, pubends: Mapping[str, Pubend]) -> None:
        """``pubends`` have loaded the claims that were saved."""
        self._tokens = tokens
        self._pubends = pubends
        self._latest: dict[str, tuple[int, int]] = {}
        self._unsaved: dict[str, None] = {}
        self._saving: dict[int, _Saving] = {}

    @staticmethod
    def key(pubend: str) -> str:
        """The name under which a pubend's claims are saved."""
        return f"pubend/{pubend}/holds"

    def stated(
        self, message: Acknowledgement, now: Instant, out: list[Effect]
    ) -> ClaimsSaved | None:
        """Apply an edge's statement; returns the answer, if there is nothing to wait for."""
        epoch, number = self._latest.get(message.edge, (0, 0))
        if epoch == message.epoch and message.number <= number:
            return None
        if message.edge not in self._latest and len(self._latest) >= MAX_EDGES:
            return None
        self._latest[message.edge] = (message.epoch, message.number)
        if not self._take(message, now):
            return None
        if self._unsaved:
            self._save(out)
        if not message.confirm:
            return None
        answer = ClaimsSaved(message.root, message.edge, message.epoch, message.number)
        if not self._saving:
            return answer
        # Writes are confirmed in order: after the last one all claims are saved.
        list(self._saving.values())[-1].waiting.append(answer)
        return None

    def _take(self, message: Acknowledgement, now: Instant) -> bool:
        """Change the claims; False if one of them did not fit."""
        placed = True
        for name, pubend in self._pubends.items():
            holds = pubend.holds
            holds.claim_live(message.edge, message.epoch, message.live.get(name), now)
            before = holds.durable_of(message.edge)
            claim = message.durable.get(name)
            if claim == before:
                continue
            placed = holds.claim_durable(message.edge, claim) and placed
            self._unsaved[name] = None
            if claim is None:
                pubend.retention.look_soon(now)
        return placed

    def _save(self, out: list[Effect]) -> None:
        names, self._unsaved = tuple(self._unsaved), {}
        values: dict[str, bytes | None] = {
            self.key(name): self._pubends[name].holds.save() for name in names
        }
        token = self._tokens.take(HOLDS)
        self._saving[token] = _Saving(names, [])
        out.append(PersistState(token, values))

    def resolved(self, token: int, failure: PersistFailed | None) -> list[ClaimsSaved]:
        """Claims are saved, or were refused; returns the answers that are due."""
        saving = self._saving.pop(token)
        if not failure:
            return saving.waiting
        self._unsaved.update(dict.fromkeys(saving.logs))
        return []
