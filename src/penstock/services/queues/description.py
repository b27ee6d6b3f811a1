"""The queue service, described."""

from __future__ import annotations

from typing import Final

from penstock.services.description import ServiceDescription

DESCRIPTION: Final = ServiceDescription(
    "queues",
    messages=("penstock.services.queues.messages",),
    broker="penstock.services.queues.settings:build",
    settings="penstock.services.queues.settings:QueuesSettings",
    table="penstock.services.queues.settings:QueuesTable",
    why_text="penstock.services.queues.why_text:why_text",
    client="penstock.client.queues.queues:Queues",
    scenario="penstock.lab.workloads.queues.service:QueuesLab",
    papers="penstock.papers.store_and_forward.paper:PAPER",
    commands={
        "send": ("penstock.cli.messaging.queues:send", "Send messages to a queue or to groups."),
        "receive": ("penstock.cli.messaging.queues:receive", "Receive messages from a queue."),
        "workers": (
            "penstock.cli.messaging.workers:workers",
            "Run as many processes of a command as a queue needs.",
        ),
        "queue": ("penstock.cli.messaging.queues:queue", "List, show, purge and change queues."),
    },
)
