"""Replay stored messages, in a script without asyncio.

    PENSTOCK_URL=penstock://127.0.0.1:7400 python examples/replay.py "topic = 'prices'"

counts the stored messages that match a selector, minute by minute.  Without arguments it first
publishes messages to count.
"""

from __future__ import annotations

import sys
from collections import Counter

import penstock

QUIET_S = 2.0
"""The replay has caught up when no message arrives for this long."""


def main(selector: str) -> None:
    """Replay from the oldest stored message."""
    minutes: Counter[str] = Counter()
    with penstock.blocking.connect() as client:
        if not selector:
            client.publish_batch([({"topic": "replayed", "number": n}, b"") for n in range(1000)])
            selector = "topic = 'replayed'"
        with client.subscribe(selector, start="earliest") as subscription:
            try:
                for message in subscription.messages(deadline_s=QUIET_S):
                    minutes[f"{message.time:%Y-%m-%d %H:%M}"] += 1
            except penstock.DeadlineExceeded:
                print(f"caught up; a subscription that starts at {subscription.positions} goes on")
    for minute, count in sorted(minutes.items()):
        print(f"{minute}  {count:>8} messages")
    print(f"{minutes.total()} in all")


main(sys.argv[1] if len(sys.argv) > 1 else "")
