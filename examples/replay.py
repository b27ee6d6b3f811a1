"""Read the past, in a script without asyncio.

    PENSTOCK_URL=penstock://127.0.0.1:7400 python examples/replay.py "topic = 'prices'"

counts what the broker still keeps of a selector's messages, minute by minute.  Without arguments it
first publishes something to count.
"""

from __future__ import annotations

import sys
from collections import Counter

import penstock

QUIET_S = 2.0
"""The replay has caught up when no message comes for so long."""


def main(selector: str) -> None:
    """Replay from the beginning of what is kept."""
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
