"""What a sweep measures of each run."""

from __future__ import annotations

from typing import Final

from penstock.lab.telemetry.measure import RULES

MEASURES: Final = {
    "recovery_s": "the longest recovery of an edge that was behind",
    "published_msgs_per_s": "messages stored a second, of all pubends",
    "delivered_msgs_per_s": "messages delivered a second, to all subscriptions",
    "most_queued_bytes": "the largest queue of a link",
    "dropped_messages": "what did not fit a link's queue, or was lost on it",
    "utilisation": "of the fullest link that has a limit",
    "pubend_jain": "Jain's index of the pubends' messages",
    "subscription_jain": "Jain's index of the subscriptions' messages",
    "limited_s": "seconds of pubends under a limit",
    **dict.fromkeys(RULES, "how often a rule was broken, as judged at the ends"),
}
"""Each with what it is; penstock.spark.sweep.summary computes them."""
