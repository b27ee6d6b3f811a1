"""The paper's price of a link: exponential in its buffer (Section IV-B.3, Equation 7)."""

from __future__ import annotations

from math import e, expm1

from penstock.services.multicast.parameters import PaperLaw


def paper_price(buffered_packets: float, law: PaperLaw) -> float:
    """What a packet pays for this link; 0 if nothing waits, C_max at the soft limit.

    Beyond ten soft limits the price stays as it is: nobody has been able to pay it for long, and
    an exponential of a large backlog overflows.
    """
    waiting_packets = max(buffered_packets - law.unacknowledged_packets, 0.0)
    utilisation = min(waiting_packets / law.soft_limit_packets, 10.0)
    return law.prohibitive_cost * expm1(utilisation) / (e - 1)
