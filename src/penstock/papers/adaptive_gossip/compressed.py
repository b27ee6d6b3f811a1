"""A gossip scenario on a smaller scale, for real sockets and a real clock.

Gossip measures time in rounds and load in messages per round and buffer.  A run with a gossip
period of 100 ms (``live_period_s``) instead of 5 s, and with a third of the buffers, is therefore
the same run, fifty times faster and light enough for 60 peers in one process.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.papers.adaptive_gossip.scenario import GossipScenario
from penstock.services.gossip.parameters import GossipParameters

BUFFERS_DIVIDED_BY: Final = 3


def compressed(scenario: GossipScenario) -> GossipScenario:
    """The scenario as it runs live; one with rounds that are short already is not changed."""
    if scenario.period_s <= scenario.live_period_s:
        return scenario
    faster = scenario.period_s / scenario.live_period_s / BUFFERS_DIVIDED_BY
    changes = tuple(
        msgspec.structs.replace(each, buffer_events=_divided(each.buffer_events))
        for each in scenario.changes
    )
    expect = scenario.expect
    if expect.input_rate_at_least is not None:
        rate = faster * expect.input_rate_at_least
        expect = msgspec.structs.replace(expect, input_rate_at_least=rate)
    return msgspec.structs.replace(
        scenario,
        parameters=_compressed_parameters(scenario.parameters, scenario.live_period_s),
        offered_msgs_per_s=faster * scenario.offered_msgs_per_s,
        changes=changes,
        expect=expect,
    )


def _compressed_parameters(parameters: GossipParameters, period_s: float) -> GossipParameters:
    quicker = parameters.with_period(period_s)
    adaptation = quicker.adaptation.times(1 / BUFFERS_DIVIDED_BY)
    believed = _divided(adaptation.smallest_believed_buffer)
    return msgspec.structs.replace(
        quicker,
        buffer_events=_divided(parameters.buffer_events),
        # Real datagrams must fit a real network, whatever size the simulated ones had.
        datagram_bytes=min(parameters.datagram_bytes, GossipParameters().datagram_bytes),
        adaptation=msgspec.structs.replace(adaptation, smallest_believed_buffer=believed),
    )


def _divided(events: int) -> int:
    return max(1, round(events / BUFFERS_DIVIDED_BY))
