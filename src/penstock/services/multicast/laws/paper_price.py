"""The paper's price of a link: exponential in its buffer (Section IV-B.3, Equation 7)."""

from __future__ import annotations

from math import e, expm1

from penstock.core.clock import Instant
from penstock.services.multicast.parameters import PaperLaw


def paper_price(buffered_packets: float, law: PaperLaw) -> float:
    """What a packet pays for this link; 0 if nothing waits, C_max at the soft limit.

    The price is capped at ten soft limits: no sender can pay even a small part of that, and the
    exponential of a large backlog would overflow.
    """
    waiting_packets = max(buffered_packets - law.unacknowledged_packets, 0.0)
    utilisation = min(waiting_packets / law.soft_limit_packets, 10.0)
    return law.prohibitive_cost * expm1(utilisation) / (e - 1)


class BufferPrice:
    """The price of one link under the paper's law; what packets paid does not matter."""

    __slots__ = ("_law",)

    def __init__(self, law: PaperLaw) -> None:
        self._law = law

    def arrived(self, packets: float, paid: float, sequence: int | None, now: Instant) -> None:
        pass

    def issued(self, sequence: int, now: Instant) -> None:
        pass

    def update(self, buffered_packets: float, now: Instant) -> float:
        return paper_price(buffered_packets, self._law)
