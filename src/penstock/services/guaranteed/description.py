"""The guaranteed service, described."""

from __future__ import annotations

from typing import Final

from penstock.services.description import ServiceDescription

DESCRIPTION: Final = ServiceDescription(
    "guaranteed",
    messages=(
        "penstock.services.guaranteed.messages",
        "penstock.services.guaranteed.staging.messages",
    ),
    broker="penstock.services.guaranteed.settings:build",
    settings="penstock.services.guaranteed.settings:GuaranteedSettings",
    table="penstock.services.guaranteed.settings:GuaranteedTable",
    why_text="penstock.services.guaranteed.why_text:why_text",
    client="penstock.client.guaranteed.guaranteed:Guaranteed",
    telemetry_publisher="penstock.services.guaranteed.telemetry_stream:TelemetryStream",
    scenario="penstock.lab.workloads.guaranteed.service:GuaranteedLab",
    papers="penstock.papers.gryphon.paper:PAPER",
    commands={
        "pub": (
            "penstock.cli.messaging.pub:pub",
            "Publish a message, or one for each line of input.",
        ),
        "sub": ("penstock.cli.messaging.sub:sub", "Print the messages that match a selector."),
        "subscriptions": (
            "penstock.cli.operations.subscriptions:subscriptions",
            "List the durable subscriptions of a broker, or delete one.",
        ),
        "sinks": (
            "penstock.cli.operations.sinks:sinks",
            "List the sinks that a broker remembers, or delete retired ones.",
        ),
    },
)
