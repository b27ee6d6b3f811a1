"""The datagram service, described."""

from __future__ import annotations

from typing import Final

from penstock.services.description import ServiceDescription

DESCRIPTION: Final = ServiceDescription(
    "datagram",
    messages=("penstock.services.datagram.messages",),
    broker="penstock.services.datagram.settings:build",
    why_text="penstock.services.datagram.why_text:why_text",
    client="penstock.client.datagram.service:DatagramService",
    scenario="penstock.lab.workloads.datagram.service:DatagramLab",
    papers="penstock.papers.content_aware.paper:PAPER",
)
