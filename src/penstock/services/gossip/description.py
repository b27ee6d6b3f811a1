"""The gossip service, described: it runs among peers, without brokers."""

from __future__ import annotations

from typing import Final

from penstock.services.description import ServiceDescription

DESCRIPTION: Final = ServiceDescription(
    "gossip",
    messages=("penstock.services.gossip.messages",),
    why_text="penstock.services.gossip.why_text:why_text",
    client="penstock.client.gossip.service:GossipService",
    scenario="penstock.lab.workloads.gossip.service:GossipLab",
    papers="penstock.papers.adaptive_gossip.paper:PAPER",
    commands={
        "gossip": (
            "penstock.cli.messaging.gossip:gossip",
            "Run a gossip peer, which broadcasts without a broker.",
        ),
    },
)
