"""An answer to ``penstock why`` of this service, for people."""

from __future__ import annotations

from typing import Any

from penstock.services.datagram.why import DECISIONS


def why_text(document: dict[str, Any]) -> str:
    """The explanation of a publisher's flows, as text."""
    name, rate = document["publisher"], document["publish_rate_msgs_per_s"]
    flows = document["flows"]
    if not flows:
        return f"{name}: not slowed down; it publishes {rate:.0f} msg/s"
    lines = [
        f"{name}: publishes {rate:.1f} msg/s; {len(flows)} of its flows are controlled",
        f"  rule: {document['rule']}",
    ]
    return "\n".join([*lines, *map(_flow_text, flows)])


def _flow_text(flow: dict[str, Any]) -> str:
    return (
        f"  {flow['selector'] or 'everything'}: {flow['quota_msgs_per_s']:.1f} msg/s for "
        f"{flow['limiting_receiver']}, which receives {flow['reception_msgs_per_s']:.1f} at a loss "
        f"event rate of {flow['loss_event_rate']:.2g} and a round trip of "
        f"{1000 * flow['round_trip_s']:.0f} ms; {flow['waiting_messages']} messages waiting, "
        f"controlled for {flow['controlled_for_s']:.0f} s; latest decision: "
        f"{DECISIONS[flow['decided_by']]}"
    )
