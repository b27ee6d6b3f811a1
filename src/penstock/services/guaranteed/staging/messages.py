"""The messages about staged rows: rows that are durable at a broker before they are published.

A *sink* is a client that publishes in numbered steps, its *epochs* (a Spark query and its batches).
A *stage* is one writer's part of an epoch.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from msgspec import Meta, Struct

from penstock.content.rows.batch import Batch
from penstock.core.limits import MOST_STREAMS, Count, InstantLimited, Name, Sequence
from penstock.core.message import Answer, Request, Right, RowsRequest

MOST_LISTED: Final = 1_000
"""Sinks in one answer: those that were unused for longest; the answer counts all."""


class OpenEpoch(Request, frozen=True):
    """Asks whether an epoch was committed before, and whether this broker hosts the pubend."""

    answer: ClassVar[str] = "EpochOpened"
    repeatable: ClassVar[bool] = True

    sink: Name
    epoch: Sequence
    pubend: Name = ""


class EpochOpened(Answer, frozen=True):
    """``decided`` means that the epoch was committed before; nothing needs to be staged.

    ``elsewhere`` means that this broker does not host the pubend.
    """

    sink: Name = ""
    epoch: Sequence = 0
    decided: bool = False
    elsewhere: bool = False


class StageRows(RowsRequest, Request, frozen=True, gc=False):
    """Rows for a stage, numbered from ``first_row``; a repeat of rows that it holds is harmless."""

    answer: ClassVar[str] = "RowsStaged"
    stored: ClassVar[bool] = True

    sink: Name
    epoch: Sequence
    stage: Name
    first_row: Sequence
    batch: Batch

    def refused(self, reason: str) -> RowsStaged:
        """Answer that the stage was not changed."""
        reply: RowsStaged = self.answered(
            self.sink, self.epoch, self.stage, self.first_row, problem=reason
        )
        return reply


class RowsStaged(Answer, frozen=True):
    """The stage holds ``rows`` rows, all durable.

    ``decided`` means that the epoch was committed before: its rows need not be staged again.
    """

    sink: Name = ""
    epoch: Sequence = 0
    stage: Name = ""
    rows: Count = 0
    decided: bool = False


class CommitStages(Request, frozen=True):
    """Publish these stages, each with the number of rows that it must hold, and drop all others.

    Without a ``pubend`` the broker chooses one, always the same for the same sink.  ``follows`` is
    an epoch that the sink has published before, if it knows one: a broker without a record of it
    refuses, because it cannot tell a repeat.  ``once`` is a sink that commits one epoch and is
    never used again; the broker need not remember it for long.
    """

    answer: ClassVar[str] = "StagesCommitted"

    sink: Name
    epoch: Sequence
    stages: Annotated[tuple[tuple[Name, Count], ...], Meta(max_length=MOST_STREAMS)]
    pubend: Name = ""
    follows: Sequence | None = None
    once: bool = False


class StagesCommitted(Answer, frozen=True):
    """Every row of the epoch is published, once; or nothing was decided, with the reason.

    If ``uncertain``, only a restart of the broker shows whether the commit was decided.
    ``elsewhere`` means that this broker does not host the pubend.
    """

    sink: Name = ""
    epoch: Sequence = 0
    rows: Count = 0
    elsewhere: bool = False


class DropStages(Request, frozen=True):
    """Discards all stages of an epoch that will not be committed."""

    answer: ClassVar[str] = "StagesDropped"

    sink: Name
    epoch: Sequence


class StagesDropped(Answer, frozen=True):
    """The stages are discarded, or the request failed with a reason."""

    sink: Name = ""
    epoch: Sequence = 0


class SinkDescription(Struct, frozen=True):
    """One sink that a broker remembers."""

    name: Name
    pubend: Name
    epoch: Annotated[int, Meta(ge=-1, lt=2**62)]
    """The last epoch whose rows are all published; -1 if there is none yet."""
    used_at: InstantLimited
    """When it last committed; 0 if that was not recorded."""
    publishing: bool
    """Whether an epoch is decided and not published completely."""


class ListSinks(Request, frozen=True):
    """Asks for the sinks that this broker remembers, the one unused for longest first."""

    answer: ClassVar[str] = "SinksListed"
    repeatable: ClassVar[bool] = True


class SinksListed(Answer, frozen=True):
    """The first of them, how many there are, and how many the broker remembers at most."""

    sinks: Annotated[tuple[SinkDescription, ...], Meta(max_length=MOST_LISTED)] = ()
    total: Count = 0
    limit: Count = 0


class ForgetSink(Request, frozen=True):
    """Deletes what is remembered of a sink: an epoch that is repeated is published again."""

    answer: ClassVar[str] = "SinkForgotten"
    repeatable: ClassVar[bool] = True
    right: ClassVar[Right] = Right.ADMINISTER

    sink: Name


class SinkForgotten(Answer, frozen=True):
    """The sink is not remembered any more, or the request was refused with a reason."""

    sink: Name = ""
