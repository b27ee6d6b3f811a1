"""The configuration of queues, of alias queues, and of the service at one broker.

Sections are those of El Rheddane, De Palma and Tchana, "Scalable Store and Forward Messaging".
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from penstock.core.clock import MILLISECOND, SECOND, Duration

Positive = Annotated[int, msgspec.Meta(gt=0)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"^[^@/\s]+$")]
"""A queue's name: no white space, no slash (names of logs are paths) and no ``@``."""

Balancing: TypeAlias = Literal["round-robin", "weighted", "flow-control"]
Law: TypeAlias = Literal["paper", "improved"]

DEAD_LETTERS = "dead-letters"
"""The dead-letter queue of every queue that names no other; every broker with queues has it."""


class QueueConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The configuration of one queue."""

    name: Name
    max_deliveries: Positive = 5
    """A message that was delivered this many times without acknowledgement is a dead letter."""

    dead_letter_queue: str = DEAD_LETTERS
    """A queue of the same broker; if it is empty, messages that are given up are discarded."""

    keep_expired: bool = False
    """Whether expired messages go to the dead-letter queue, too."""

    depth_limit_messages: Positive = 10_000_000
    depth_limit_bytes: Positive = 16 << 30
    """A queue that has reached a limit refuses further messages and names the limit."""


class AliasConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An alias queue, its destinations (``queue@broker``), and how messages are divided."""

    name: Name
    destinations: tuple[str, ...]
    balancing: Balancing = "flow-control"
    law: Law = "improved"
    weights: dict[str, Positive] = msgspec.field(default_factory=dict)
    """For ``weighted``: how many messages in a row each destination gets; 1 if not listed."""

    first_period_ns: Positive | None = None
    """Time to the first regulation; by default 10 s under the paper's law (Section V.B), 1 s under
    the improved one."""

    overhead: Share = 0.001
    """Monitoring messages for each message produced (Section IV.B), from which the period
    follows."""

    max_load_messages: Positive = 3000
    """MAX_LOAD of Algorithm 1: above it a queue's weight is cut by a tenth."""

    pass_through_ns: NotNegative = 25 * MILLISECOND
    """Rows for destinations within this distance are stored only there, as long as they can be
    forwarded at once; 0 stores every row here first.  The default is a few times what a disk takes,
    because a producer's receipt comes that much later."""

    depth_limit_messages: Positive = 10_000_000
    depth_limit_bytes: Positive = 16 << 30


class QueueParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of all queues of a broker; durations are nanoseconds."""

    memory_bytes: Positive = 64 << 20
    """Message bodies of one queue that are kept in memory; the others are read from the log."""

    read_bytes: Positive = 1 << 20
    """Size of one read from a log."""

    submit_limit_bytes: Positive = 32 << 20
    """Bytes sent to one queue that may wait for the disk; more is refused."""

    forward_window_bytes: Positive = 4 << 20
    """Undecided bytes in flight from an alias queue to one destination.  Less than a link's queue
    (5 MB), so that a burst is not dropped there."""

    unstored_limit_ns: Positive = 1 * SECOND
    """Rows that pass through an alias queue and have no owner after this time are stored in it."""

    pass_again_ns: Positive = 5 * SECOND
    """After that all rows are stored for this time: a destination that was too slow once is likely
    to stay so, and each further trial delays a few producers."""

    forward_timeout_ns: Positive = 5 * SECOND
    """Rows that a destination has not confirmed after this time are forwarded again, to another
    destination if possible."""

    refused_pause_ns: Positive = 2 * SECOND
    """A destination that refused rows gets none for this time."""

    repeat_ns: Positive = 1 * SECOND
    """A question or a decision without an answer is repeated after this time."""

    store_retry_ns: Positive = 500 * MILLISECOND
    """A note that the store refused is written again after this time."""

    checkpoint_ns: Positive = 1 * SECOND
    """The interval at which a journal saves its checkpoint and trims its settled part."""

    origin_limit: Positive = 100_000
    """Producers and alias queues that one queue remembers; the least recent is forgotten first."""

    consumers_per_session: Positive = 1_000
    """Consumers of one queue on one connection, so that no client uses up the limit below."""

    consumers_per_queue: Positive = 10_000
    credit_limit: Positive = 1_000_000
    """Bounds on the state that clients can create at a broker."""

    period_min_ns: Positive = 100 * MILLISECOND
    period_max_ns: Positive = 60 * SECOND
    """Bounds of the control loop's period, whatever the throughput."""

    @property
    def piggyback_ns(self) -> Duration:
        """How long a note or a confirmation that is not urgent waits to go with another.

        Each confirmed decision waits twice, which must take less than ``repeat_ns``.
        """
        return self.repeat_ns // 4


def split_address(address: str) -> tuple[str, str]:
    """``queue@broker`` as its two parts; raises ``ValueError``."""
    queue, at, broker = address.rpartition("@")
    if not at or not queue or not broker:
        raise ValueError(f"destination {address!r} is not of the form queue@broker")
    return queue, broker


NEVER_A_DEAD_LETTER = 2**31
"""The dead-letter queue gives no message up."""


def with_dead_letters(queues: tuple[QueueConfig, ...]) -> tuple[QueueConfig, ...]:
    """The configured queues, and the dead-letter queue if it is not among them."""
    if not queues or any(each.name == DEAD_LETTERS for each in queues):
        return queues
    letters = QueueConfig(DEAD_LETTERS, max_deliveries=NEVER_A_DEAD_LETTER, dead_letter_queue="")
    return (*queues, letters)


def check_configuration(queues: tuple[QueueConfig, ...], aliases: tuple[AliasConfig, ...]) -> None:
    """Check what the types do not express; raises ``ValueError``."""
    names = [each.name for each in with_dead_letters(queues)]
    names += [each.name for each in aliases]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r}: two queues or alias queues of one broker share this name")
    for queue in queues:
        letters = queue.dead_letter_queue
        if letters and letters not in names:
            raise ValueError(
                f"queue {queue.name!r}: its dead_letter_queue {letters!r} is not a queue of the "
                "same broker; add it, or leave the key out"
            )
    for alias in aliases:
        if not alias.destinations:
            raise ValueError(f"alias queue {alias.name!r} has no destinations; name at least one")
        for address in alias.destinations:
            split_address(address)
