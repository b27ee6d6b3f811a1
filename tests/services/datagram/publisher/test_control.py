"""What goes, what waits, and what is not taken (Section III-B 8)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.codec.size import encoded_size
from penstock.core.clock import SECOND
from penstock.services.datagram.messages import EchoRequest, Publication
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.publisher.control import PublishingControl, QueueFull, TooLarge
from penstock.services.datagram.subscriber.publication_record import ENCODING_BYTES

from ..conftest import NOW, PUBLISHER, SUBSCRIBER, feedback

A, B = {"kind": "a"}, {"kind": "b"}


def publisher(**settings: object) -> PublishingControl:
    return PublishingControl(
        PUBLISHER,
        DatagramParameters(**settings),  # type: ignore[arg-type]
        now=NOW,
    )


def limited(quota: float = 1.0, **settings: object) -> PublishingControl:
    """A publisher whose messages of kind a may go at this rate."""
    control = publisher(**settings)
    control.feedback(feedback("kind = 'a'", quota), NOW)
    return control


def test_an_uncontrolled_message_goes_at_once() -> None:
    sent = publisher().offer(1, A, b"x", NOW)
    assert sent is not None
    assert (sent.sequence, sent.sent_at, sent.attributes, sent.payload) == (1, NOW, A, b"x")
    assert sent.flows == ()


def test_messages_are_numbered_and_carry_the_record_of_those_before() -> None:
    control = publisher(record_messages=2)
    sent = [control.offer(each, A, b"", NOW) for each in range(4)]
    assert [each.sequence for each in sent if each] == [1, 2, 3, 4]
    assert [len(each.record) // ENCODING_BYTES for each in sent if each] == [0, 1, 2, 2]


def test_only_the_controlled_flow_is_slowed() -> None:
    control = limited()
    assert control.offer(1, A, b"", NOW) is not None
    assert control.offer(2, A, b"", NOW) is None
    for token in range(3, 100):
        assert control.offer(token, B, b"", NOW) is not None
    assert control.waiting_messages == 1


def test_a_controlled_message_carries_its_flow() -> None:
    sent = limited().offer(1, A, b"", NOW)
    assert sent is not None
    assert [(tag.receiver, tag.filter_id, tag.sequence) for tag in sent.flows] == [
        (SUBSCRIBER, 1, 1)
    ]


def test_what_waits_goes_in_order_when_its_token_comes() -> None:
    control = limited(quota=10.0)
    for token in range(1, 4):
        control.offer(token, A, b"", NOW)
    outcomes = []
    for _ in range(2):
        due = control.next_deadline()
        assert due is not None
        outcomes += control.due(due)
    assert [each.token for each in outcomes] == [2, 3]
    assert all(each.publication is not None for each in outcomes)


def test_a_flow_within_a_busier_one_is_not_starved_by_it() -> None:
    control = publisher()
    control.feedback(feedback("kind = 'a'", 10.0), NOW)
    control.feedback(feedback("size = 1", 5.0, sender="t@far"), NOW)
    both = {"kind": "a", "size": 1}
    gone: list[int] = []
    now = NOW
    for token in range(400):
        # Twice what the flow of kind a may have, and every fifth message is part of both flows.
        now = NOW + token * SECOND // 20
        gone += [each.token for each in control.due(now) if each.publication is not None]
        try:
            control.offer(token, both if token % 5 == 0 else A, b"", now)
        except QueueFull:
            continue
    waited = [token for token in gone if token % 5 == 0]
    assert len(waited) > len(gone) // 10
    assert waited[-1] > 200


def test_a_flow_holds_a_bounded_number_and_says_who_limits_it() -> None:
    control = limited(queue_messages=3)
    for token in range(4):
        control.offer(token, A, b"", NOW)
    with pytest.raises(QueueFull, match=r"s@far limits to 1 messages a second"):
        control.offer(9, A, b"", NOW)
    assert control.refused_messages == 1


def test_a_message_is_given_up_at_its_deadline() -> None:
    control = limited()
    control.offer(1, A, b"", NOW)
    control.offer(2, A, b"", NOW, NOW + SECOND // 10)
    assert control.next_deadline() == NOW + SECOND // 10
    assert [(each.token, each.publication) for each in control.due(NOW + SECOND // 10)] == [
        (2, None)
    ]
    assert control.expired_messages == 1


def test_a_publisher_without_control_ignores_reports() -> None:
    control = limited(law="none")
    assert all(control.offer(token, A, b"", NOW) for token in range(50))


def test_an_echo_is_answered_with_both_clocks() -> None:
    reply = publisher().echo(EchoRequest(PUBLISHER, SUBSCRIBER, 5), NOW)
    assert (reply.to, reply.request_sent_at, reply.sent_at) == (SUBSCRIBER, 5, NOW)


def test_a_message_that_does_not_fit_says_what_to_do() -> None:
    with pytest.raises(TooLarge, match="datagram_bytes = 1400"):
        publisher().offer(1, A, bytes(1300), NOW)


VALUES = st.one_of(
    st.text(max_size=300), st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans()
)


@given(
    st.dictionaries(st.text(min_size=1, max_size=40), VALUES, max_size=12),
    st.binary(max_size=1300),
    st.integers(0, 40),
)
@settings(deadline=None, max_examples=40)
def test_whatever_is_taken_fits_a_datagram(
    attributes: dict[str, str | int | float | bool], payload: bytes, receivers: int
) -> None:
    control = publisher(queue_messages=1000)
    for number in range(receivers):
        # Each selects everything, and none covers another for certain.
        selector = f"x{number} = 1 OR x{number} IS NULL"
        control.feedback(feedback(selector, 1000.0, sender=f"receiver-{number}@far"), NOW)
    try:
        sent: Publication | None = control.offer(1, attributes, payload, NOW)
    except TooLarge:
        return
    assert sent is not None
    assert encoded_size(sent) <= 1400
