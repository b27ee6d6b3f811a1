"""An answer to ``penstock why`` of this service, for people."""

from __future__ import annotations

from typing import Any


def why_text(document: dict[str, Any]) -> str:
    """What slows a pubend down, or why subscriptions of a name or a cursor are behind."""
    if "cursor" in document:
        return _cursor_text(document)
    return _pubend_text(document) if "pubend" in document else _subscription_text(document)


def _cursor_text(document: dict[str, Any]) -> str:
    behind = document["behind_s"]
    furthest = max(behind.values(), default=0.0)
    standing = f"is {furthest:.1f} s behind" if furthest else "has processed everything"
    moved = document["moved_before_s"]
    when = "not since the broker started" if moved is None else f"{moved:.0f} s ago"
    lines = [
        f"{document['cursor']}: the job of this cursor {standing}",
        f"  cause:      {document['cause']}",
        f"  moved:      {when}",
    ]
    lines += [f"  {pubend}: {seconds:.1f} s behind" for pubend, seconds in behind.items()]
    for each in document["readers"]:
        lines.append(
            f"  reader:     {each['session']}: {each['cause']}; {each['under_way_bytes']} of "
            f"{each['window_bytes']} bytes of its window are not taken"
        )
    return "\n".join(lines)


def _pubend_text(document: dict[str, Any]) -> str:
    name, observed = document["pubend"], document["observed_msgs_per_s"]
    log = f"  log:        {document['log_bytes']} bytes; {document['log_held_by']}"
    problems = [f"  problem:    {problem}" for problem in document.get("problems", ())]
    if document.get("processor_busy"):
        problems.insert(0, _busy(document["late_s"]))
    if not document["throttled"]:
        verdict = (
            "nothing is congested" if document.get("processor_busy") else "nothing slows it down"
        )
        nothing = f"{name}: {verdict}; it publishes {observed:.0f} msg/s"
        return "\n".join([nothing, *problems, log])
    lines = [
        f"{name}: may publish {document['allowed_msgs_per_s']:.1f} msg/s and publishes "
        f"{observed:.1f}, limited for {document['for_s']:.0f} s",
        f"  rule:       {document['rule']}",
        f"  cause:      {document['cause']}",
        f"  waiting:    {document['publications_waiting']} publications",
    ]
    if document["bottleneck_link"]:
        lines.append(f"  bottleneck: link {document['bottleneck_link']}")
    return "\n".join([*lines, log, *problems])


def _busy(late_s: float) -> str:
    return (
        f"  processor:  this broker was up to {late_s:.1f} s late in the last seconds: its "
        "processor is busy"
    )


def _subscription_text(document: dict[str, Any]) -> str:
    lines = []
    if not document["readers"]:
        lines.append(
            f"{document['subscription']}: durable, without a reader for "
            f"{document['absent_for_s']:.0f} s; it keeps what is published until one comes"
        )
        lines += [
            f"  {pubend}: from tick {tick} on" for pubend, tick in document["positions"].items()
        ]
    for each in document["readers"]:
        lines += [
            f"{document['subscription']} ({each['session']}): {_standing(each)}",
            f"  cause:      {each['cause']}",
            f"  its window: {each['under_way_bytes']} of {each['window_bytes']} bytes are not "
            f"taken, {each['waiting_bytes']} wait behind it",
        ]
    return "\n".join(lines)


def _standing(reader: dict[str, Any]) -> str:
    if not reader["catching_up"]:
        times = reader["times_slow"]
        return f"live; it was too slow {times} times before" if times else "live"
    streams = ", ".join(reader["catching_up"])
    slow = f", too slow for {reader['slow_for_s']:.0f} s" if reader["slow"] else ""
    return f"catching up on {streams}, {reader['behind_s']:.1f} s behind{slow}"
