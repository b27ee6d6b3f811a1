"""The multicast service, described."""

from __future__ import annotations

from typing import Final

from penstock.services.description import ServiceDescription

DESCRIPTION: Final = ServiceDescription(
    "multicast",
    messages=("penstock.services.multicast.messages",),
    broker="penstock.services.multicast.settings:build",
    settings="penstock.services.multicast.settings:MulticastSettings",
    table="penstock.services.multicast.settings:MulticastTable",
    why_text="penstock.services.multicast.why_text:why_text",
    client="penstock.client.groups.groups:Groups",
    scenario="penstock.lab.workloads.multicast.service:MulticastLab",
    papers="penstock.papers.cost_benefit.paper:PAPER",
    commands={
        "join": ("penstock.cli.messaging.groups:join", "Join groups and print their messages."),
    },
)
