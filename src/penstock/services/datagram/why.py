"""What slows a publisher's flows down, in words and numbers: ``penstock why PUBLISHER``."""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.core.clock import Instant, in_seconds
from penstock.services.datagram.laws.choice import chosen_law
from penstock.services.datagram.parameters import Law
from penstock.services.datagram.publisher.control import PublishingControl


class FlowExplanation(msgspec.Struct, frozen=True):
    """One flow that is held back; the field names are the JSON's."""

    selector: str
    limiting_receiver: str
    quota_msgs_per_s: float
    reception_msgs_per_s: float
    loss_event_rate: float
    round_trip_s: float
    controlled_for_s: float
    last_report_s_ago: float
    waiting_messages: int
    decided_by: str
    """The rule of the limiting receiver's latest decision: a key of ``DECISIONS``."""


class PublisherExplanation(msgspec.Struct, frozen=True):
    """A publisher's account of itself."""

    service: str
    publisher: str
    law: str
    detection: str
    throttled: bool
    publish_rate_msgs_per_s: float
    sent_messages: int
    refused_messages: int
    expired_messages: int
    feedback_messages: int
    rule: str
    flows: tuple[FlowExplanation, ...]


RULES: Final[dict[Law, str]] = {
    "none": "nothing is controlled",
    "paper": "each flow gets the rate that a TCP connection would have at the loss and round trip "
    "of its limiting receiver (content-aware paper, equation 1)",
    "improved": "each flow gets what keeps the queue on the way to its limiting receiver short; "
    "beside a sender that ignores the delay, what a TCP connection would have there",
}

DECISIONS: Final = {
    "no_limit": "the receiver has room for more",
    "equation": "the rate of a TCP connection at this loss and round trip",
    "delay": "the queueing delay is longer than wanted",
    "drain": "the queue is being drained to learn the shortest delay",
}
"""What each ``DecidedBy`` means, for people."""

NOT_CONGESTED: Final = "nothing is congested: no flow holds messages back"


def explain(control: PublishingControl, now: Instant) -> PublisherExplanation:
    """The account at this moment."""
    parameters = control.parameters
    flows = tuple(
        FlowExplanation(
            selector=flow.text,
            limiting_receiver=flow.receiver,
            quota_msgs_per_s=flow.quota_msgs_per_s,
            reception_msgs_per_s=flow.reception_msgs_per_s,
            loss_event_rate=flow.report.loss_event_rate,
            round_trip_s=in_seconds(flow.report.round_trip_ns),
            controlled_for_s=in_seconds(now - flow.since),
            last_report_s_ago=in_seconds(now - flow.report.at),
            waiting_messages=len(flow.waiting),
            decided_by=flow.report.decided_by.name.lower(),
        )
        for flow in sorted(control.table.flows, key=lambda each: each.quota_msgs_per_s)
    )
    held_back = any(flow.held_back or flow.waiting for flow in control.table.flows)
    quiet = chosen_law(parameters).controls_rates and not held_back
    return PublisherExplanation(
        service="datagram",
        publisher=control.address,
        law=parameters.law,
        detection=parameters.detection,
        throttled=any(flow.waiting_messages for flow in flows),
        publish_rate_msgs_per_s=control.publish_rate_msgs_per_s(now),
        sent_messages=control.sent_messages,
        refused_messages=control.refused_messages,
        expired_messages=control.expired_messages,
        feedback_messages=control.feedback_messages,
        rule=NOT_CONGESTED if quiet else RULES[parameters.law],
        flows=flows,
    )
