"""The measures that a sweep computes for each run."""

from __future__ import annotations

from typing import Final

from penstock.lab.scenario.metrics import all_rules

MEASURES: Final = {
    "recovery_s": "the longest recovery of an edge that was behind",
    "published_msgs_per_s": "messages stored per second, all pubends",
    "delivered_msgs_per_s": "messages delivered per second, all subscriptions",
    "most_queued_bytes": "the largest queue of a link",
    "dropped_messages": "messages that did not fit a link's queue, or were lost on it",
    "utilisation": "utilisation of the busiest link that has a limit",
    "pubend_jain": "Jain's index of the pubends' messages",
    "subscription_jain": "Jain's index of the subscriptions' messages",
    "limited_s": "pubend-seconds under a limit",
    **dict.fromkeys(all_rules(), "violations of a rule, as judged at the ends"),
}
"""Each with its description; penstock.spark.sweep.summary computes them."""
