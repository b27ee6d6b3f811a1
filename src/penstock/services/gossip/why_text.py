"""An answer to ``penstock why`` of this service, for people."""

from __future__ import annotations

from typing import Any


def why_text(document: dict[str, Any]) -> str:
    """What limits a peer's publications."""
    lines = [
        f"{document['peer']} in group {document['group']!r}: may publish "
        f"{document['allowed_rate_msgs_per_s']:.3g} msg/s and publishes "
        f"{document['published_rate_msgs_per_s']:.3g}; {document['waiting']} publications waiting",
        f"  cause:    {document['cause']}",
        f"  buffers:  the smallest holds {document['minimum_buffer']} events, this one "
        f"{document['own_buffer']}",
        f"  age:      {document['average_age']:.2f} when the smallest buffer drops; marks "
        f"{document['low_age_mark']:.1f} and {document['high_age_mark']:.1f}",
        f"  tokens:   {document['average_tokens']:.1f} of {document['bucket_tokens']} on average",
        f"  copies:   {document['copies_for_each_event']:.2f} of each event, "
        f"target {document['copies_target']:.2f}",
        f"  receipt:  {document['receipt']:.1%} of the events reach a peer",
        f"  group:    about {document['group_size']:.0f} peers, "
        f"{document['members_known']} known here",
    ]
    return "\n".join(lines)
