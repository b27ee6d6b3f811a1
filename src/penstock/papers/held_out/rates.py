"""What the flows of a case achieved, from what the applications saw.

1. The rate of a flow is what its slowest receiver got in a window.  A flow of the multicast service
   with several members counts what the flow control let into the network: members of one group
   may share it with other senders.
2. The *variation* of a flow is the coefficient of variation of its rate in seconds of the window.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from penstock.core.clock import SECOND
from penstock.lab.oracle.guaranteed.history import GuaranteedHistory
from penstock.lab.oracle.history import Instants
from penstock.lab.result import RunResult
from penstock.papers.held_out.case import CaseFlow, Phase

SENT: Final = {"multicast": "sent", "gossip": "published"}
"""What is counted at a sender, where its receivers are not."""


class Achieved(msgspec.Struct, frozen=True):
    """One flow in one window."""

    bytes_per_s: float
    variation: float


def achieved(result: RunResult, flow: CaseFlow, phase: Phase, step_s: float = 1.0) -> Achieved:
    """The rate of a flow in the window of a phase."""
    low, high = result.instant(phase.from_s), result.instant(phase.to_s)
    windows = [each[(each >= low) & (each < high)] for each in _instants(result, flow)]
    slowest = min(windows, key=len)
    seconds = phase.to_s - phase.from_s
    rate = len(slowest) * flow.message_bytes / seconds
    steps = np.zeros(max(1, int(seconds / step_s)))
    places = ((slowest - low) / (SECOND * step_s)).astype(int)
    np.add.at(steps, places[places < len(steps)], 1.0)
    mean = float(steps.mean())
    return Achieved(rate, float(steps.std()) / mean if mean else 0.0)


def _instants(result: RunResult, flow: CaseFlow) -> list[Instants]:
    """When the messages of a flow arrived at each of its receivers, or were sent."""
    history = result.histories[flow.service]
    if not flow.receivers:
        if flow.service == "queues":
            consumed = history.events("consumed").values()
            return [np.sort(np.concatenate([each.at for each in consumed]))]
        return [history.events(SENT[flow.service])[flow.name].at]
    if isinstance(history, GuaranteedHistory):
        return [_of_pubend(history, each, flow.subject) for each in flow.receivers]
    delivered = history.events("delivered")
    return [delivered[each].at for each in flow.receivers]


def _of_pubend(history: GuaranteedHistory, subscriber: str, pubend: str) -> Instants:
    received = history.subscribers[subscriber]
    at: Instants = np.array(received.received_at, np.int64)
    if pubend not in received.pubends:
        return at[:0]
    places = np.array(received.pubend_places, np.int64)
    chosen: Instants = at[places == received.pubends.index(pubend)]
    return chosen
