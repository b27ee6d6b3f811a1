"""The load that workers follow, from the status of a queue or of an alias queue.

1. A queue: its messages, what it has received, and the rate of its consumers.
2. An alias queue, for the workers of one of its destinations: what waits in the alias queue and in
   all destinations, what the alias queue has received, the rate of the consumers of that
   destination, and what the consumers of the others can settle.  Messages that others send to the
   destinations directly, or through other alias queues, count when they wait.
3. The alias queue's broker has what a destination said at the last question.  Without a recent
   answer of the workers' own destination the load is not known.  Another destination without one
   counts as empty and without consumers: nobody can take its messages while it is away.
"""

from __future__ import annotations

from typing import Any

from penstock.services.queues.laws.workers import QueueLoad


def load_of(status: dict[str, Any]) -> QueueLoad:
    """The load in a queue's status; raises ``ValueError`` for an alias queue."""
    if status["kind"] != "queue":
        raise ValueError(
            f"{status['name']!r} is an alias queue, which has no consumers: name the destination "
            f"from which the workers receive, with {status['name']!r} as the alias"
        )
    return QueueLoad(status["messages"], status["received_messages"], status["consumer_msgs_per_s"])


def destination_of(status: dict[str, Any], queue: str) -> str:
    """The address of a destination, of which ``queue`` is the address or the name.

    Raises ``ValueError`` if this is no alias queue, or has no such destination or several.
    """
    alias = status["name"]
    if status["kind"] != "alias":
        raise ValueError(f"{alias!r} is a queue, not an alias queue: follow its own load")
    addresses = [each["address"] for each in status["destinations"] if not each["retired"]]
    found = [each for each in addresses if queue in (each, each.rpartition("@")[0])]
    if len(found) == 1:
        return str(found[0])
    if found:
        raise ValueError(f"{alias!r} has several destinations {queue!r}: use {', '.join(found)}")
    known = ", ".join(addresses) or "none"
    raise ValueError(f"{queue!r} is not a destination of {alias!r} (it has {known})")


def alias_load_of(status: dict[str, Any], queue: str, recent_s: float) -> QueueLoad | None:
    """The load behind an alias queue for the workers of a destination; None if it is not known.

    ``recent_s`` is the age at which a destination's answer says nothing any more.  Raises
    ``ValueError`` as ``destination_of`` does.
    """
    address = destination_of(status, queue)
    heard = {each["address"]: each for each in status["destinations"] if _is_recent(each, recent_s)}
    if address not in heard:
        return None
    waiting = sum(each["told"]["messages"] for each in heard.values())
    own = heard.pop(address)["told"]
    return QueueLoad(
        messages=status["messages"] + waiting,
        received=status["received_messages"],
        worker_msgs_per_s=own["consumer_msgs_per_s"],
        others_msgs_per_s=sum(_settles_per_s(each) for each in heard.values()),
        own_messages=own["messages"],
    )


def _is_recent(destination: dict[str, Any], recent_s: float) -> bool:
    told = destination["told"]
    return told is not None and told["s_ago"] <= recent_s


def _settles_per_s(destination: dict[str, Any]) -> float:
    """What the consumers of a destination can settle; 0 if it gets no messages."""
    if destination["gets_nothing_because"]:
        return 0.0
    told = destination["told"]
    return float(told["consumers"] * (told["consumer_msgs_per_s"] or 0.0))
