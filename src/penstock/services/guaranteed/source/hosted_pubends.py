"""The publisher-hosting side of one broker: pubends, their publishers, claims on their logs.

It keeps the deadlines of the pubends, and tells publishers and telemetry when a limit changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import msgspec

from penstock.content.rows.frame import Frame
from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Tick
from penstock.core.machine import Effect, LinkName, LogRead, PersistFailed, Priority, Send, Trace
from penstock.core.tokens import Tokens
from penstock.mechanisms.deadlines import Deadlines
from penstock.services.guaranteed.dispatch import Handlers
from penstock.services.guaranteed.messages import (
    Acknowledgement,
    ClaimsSaved,
    CloseProducer,
    FullLinkReport,
    OpenProducer,
    Publish,
    UpstreamCongestionAlert,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.source.holds import Holds
from penstock.services.guaranteed.source.log_requests import LogAnswer
from penstock.services.guaranteed.source.pubend import Pubend
from penstock.services.guaranteed.source.publishers import Publishers
from penstock.services.guaranteed.source.source_holds import SourceHolds
from penstock.services.guaranteed.telemetry import throttle_record


class HostedPubends:
    """The pubends of one broker."""

    def __init__(
        self,
        broker: str,
        names: tuple[str, ...],
        parameters: GuaranteedParameters,
        tokens: Tokens,
        *,
        saved: Mapping[str, bytes],
        logs: Mapping[str, tuple[Tick, Tick, int]],
        now: Instant,
    ) -> None:
        """``saved`` and ``logs`` are what was found on the disk."""
        self._broker = broker
        self.by_name: dict[str, Pubend] = {}
        for number, name in enumerate(names):
            holds = Holds()
            kept = saved.get(SourceHolds.key(name))
            if kept is not None:
                holds.load(kept)
            self.by_name[name] = Pubend(
                name,
                parameters,
                tokens,
                log_bounds=logs.get(f"pubend/{name}"),
                saved_producers=saved.get(f"pubend/{name}/producers"),
                holds=holds,
                query_phase=number / len(names),
                now=now,
                saved_beginning=saved.get(f"pubend/{name}/beginning"),
            )
        self.by_log: dict[str | None, Pubend] = {each.log: each for each in self.by_name.values()}
        self._publishers = Publishers(broker, parameters, self.by_name)
        self._claims = SourceHolds(tokens, self.by_name)
        self._deadlines: Deadlines[str] = Deadlines()
        self._active: dict[str, Pubend] = {}
        """The pubends that have published lately: there may be very many others."""
        self.handlers: Handlers = {
            Publish: self.publish,
            OpenProducer: self._publishers.open,
            CloseProducer: self._publishers.close_producer,
        }

    def clock_measured(self, ahead_ns: Duration) -> None:
        """The instants that this machine is told are ahead of the time of day by ``ahead_ns``."""
        for pubend in self.by_name.values():
            pubend.clock_ahead_ns = ahead_ns

    def start(self) -> list[Effect]:
        out: list[Effect] = []
        for pubend in self.by_name.values():
            out += pubend.start()
            self._moved(pubend)
        return out

    # -- publishing -------------------------------------------------------------------------

    def publish(self, session: LinkName, message: Publish, now: Instant, out: list[Effect]) -> None:
        """Hand a publication to the pubend of its producer."""
        pubend = self._publishers.pubend_of(session, message, out)
        if pubend is not None:
            self._active[pubend.name] = pubend
            pubend.publishing.publish(session, message, now, out)
            self._deadlines.set(pubend.name, pubend.next_deadline())

    def publish_to(
        self, name: str, session: LinkName, message: Publish, now: Instant, out: list[Effect]
    ) -> None:
        """Publish without an open producer; the answer goes to ``session``."""
        pubend = self._active[name] = self.by_name[name]
        pubend.publishing.publish(session, message, now, out)
        self._moved(pubend)

    def session_closed(self, session: LinkName) -> None:
        self._publishers.session_closed(session)

    # -- congestion -------------------------------------------------------------------------

    def alert(self, alert: UpstreamCongestionAlert, now: Instant, out: list[Effect]) -> None:
        """An edge does not keep up with a pubend that is hosted here."""
        pubend = self.by_name.get(alert.pubend)
        if pubend is None:
            return
        worst = alert.nonrecovering
        if worst is not None and pubend.control.links.watches(worst.link, self._broker, now):
            # The gate of that link lets pass what the link takes: there is nothing to estimate.
            alert = msgspec.structs.replace(alert, nonrecovering=None)
        if pubend.control.alert(alert, pubend.spoken_end, now):
            self._limit_changed(pubend, now, out)
        pubend.publishing.admit(now, out)
        self._moved(pubend)

    def elapse(self, pubend: Pubend, now: Instant, out: list[Effect]) -> None:
        """Let the rate law act on the passing of time."""
        if pubend.control.elapse(pubend.spoken_end, pubend.waiting > 0, now):
            self._limit_changed(pubend, now, out)

    def links_measured(
        self, flow_bytes: Mapping[LinkName, Mapping[str, int]], now: Instant, out: list[Effect]
    ) -> None:
        """So much live data waits on the links of this broker."""
        for pubend in list(self._active.values()):
            control, unsent = pubend.control, pubend.writer.pending_bytes
            control.links.measured(flow_bytes, now)
            if control.links_measured(self._broker, pubend.waiting > 0, unsent, now):
                self._limit_changed(pubend, now, out)
            if pubend.waiting:
                pubend.publishing.admit(now, out)
                self._moved(pubend)
            elif not unsent and control.links.is_idle:
                del self._active[pubend.name]

    def link_reported(self, report: FullLinkReport, now: Instant, out: list[Effect]) -> None:
        """A relay reports that a link is full of a pubend's data."""
        pubend = self.by_name.get(report.pubend)
        if pubend is not None and isfinite(report.bytes_per_s):
            pubend.control.links.reported(
                report.link, report.waiting_bytes, report.bytes_per_s, now
            )
            pubend.publishing.admit(now, out)
            self._moved(pubend)

    def link_down(self, link: LinkName, now: Instant, out: list[Effect]) -> None:
        """A link is lost: nobody waits for it."""
        for pubend in self.by_name.values():
            pubend.control.links.forget(link)
            pubend.publishing.admit(now, out)
            self._moved(pubend)

    def _limit_changed(self, pubend: Pubend, now: Instant, out: list[Effect]) -> None:
        """Tell all publishers of a pubend how fast they may go, and why."""
        control = pubend.control
        notice = control.notice(now)
        sessions = self._publishers.sessions_of(pubend)
        out += [Send(session, notice, Priority.CONTROL) for session in sessions]
        out.append(Trace(throttle_record(self._broker, control, now)))

    # -- claims on the logs -----------------------------------------------------------------

    def acknowledged(
        self, message: Acknowledgement, now: Instant, out: list[Effect]
    ) -> ClaimsSaved | None:
        """An edge states its claims; returns the answer, if there is nothing to wait for."""
        answer = self._claims.stated(message, now, out)
        for pubend in self.by_name.values():
            self._moved(pubend)
        return answer

    def claims_saved(self, token: int, failure: PersistFailed | None) -> list[ClaimsSaved]:
        """Claims are saved, or were refused; returns the answers that are due."""
        return self._claims.resolved(token, failure)

    # -- the store --------------------------------------------------------------------------

    def resolved(
        self,
        pubend: Pubend,
        token: int,
        failure: PersistFailed | None,
        now: Instant,
        out: list[Effect],
    ) -> list[Frame]:
        """A frame is durable, or was refused; returns the frames to speak of now, in order."""
        spoken = pubend.resolved(token, failure, now, out)
        if failure is not None:
            pubend.publishing.admit(now, out)
        self._deadlines.set(pubend.name, pubend.next_deadline())
        return spoken

    def log_read(
        self, pubend: Pubend, fact: LogRead, now: Instant, out: list[Effect]
    ) -> LogAnswer | None:
        """The store has read a piece of a log; returns the answer, if a request waits for it."""
        answer = pubend.log_read(fact, now, out)
        if pubend.ready:
            self._publishers.pubend_ready(now, out)
        self._moved(pubend)
        return answer

    # -- time -------------------------------------------------------------------------------

    def due(self, now: Instant) -> list[Pubend]:
        """The pubends whose deadline has come; each must be given to ``deadline``."""
        return [self.by_name[name] for name in self._deadlines.pop_due(now)]

    def deadline(self, pubend: Pubend, now: Instant, out: list[Effect]) -> None:
        pubend.deadline(now, out)
        self._moved(pubend)

    def next_deadline(self) -> Instant | None:
        return self._deadlines.earliest()

    def _moved(self, pubend: Pubend) -> None:
        self._deadlines.set(pubend.name, pubend.next_deadline())

    def check_invariants(self) -> None:
        for pubend in self.by_name.values():
            pubend.check_invariants()
