"""An answer to ``penstock why`` of this service, for people."""

from __future__ import annotations

from typing import Any


def why_text(document: dict[str, Any]) -> str:
    """Why messages wait in a queue or an alias queue."""
    return _alias_text(document) if document["kind"] == "alias" else _queue_text(document)


def _queue_text(document: dict[str, Any]) -> str:
    lines = [
        f"{document['name']}: {document['waiting']} messages wait, "
        f"{document['consumers']} consumers hold {document['held']}",
        f"  rates:      {document['received_msgs_per_s']:.0f} msg/s arrive, "
        f"{document['consumed_msgs_per_s']:.0f} msg/s are settled",
    ]
    if document["problem"]:
        lines.append(f"  problem:    {document['problem']}")
    return "\n".join(lines)


def _alias_text(document: dict[str, Any]) -> str:
    lines = [
        f"{document['name']}: {document['messages']} messages are here, {document['waiting']} of "
        f"them wait to be forwarded; producers send {document['received_msgs_per_s']:.0f} msg/s, "
        f"{document['forwarded_msgs_per_s']:.0f} leave",
        f"  rule:       {document['balancing']}, {document['law']} law, every "
        f"{document['period_s']:g} s",
    ]
    for each in document["destinations"]:
        nothing = each["gets_nothing_because"]
        takes = each["consumed_msgs_per_s"]
        rate = "at an unknown rate" if takes is None else f"{takes:.0f} msg/s"
        state = f"gets nothing: {nothing}" if nothing else f"consumes {rate}, {each['load']} wait"
        lines.append(f"  {each['address']}: {state}")
    if document["problem"]:
        lines.append(f"  problem:    {document['problem']}")
    return "\n".join(lines)
