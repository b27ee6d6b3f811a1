"""The paper's law for a sender: a salary, savings, and a lottery (Sections IV-B.4 to IV-B.7).

1. A sender is paid a salary every period and saves at most S.  A packet costs a fee and the prices
   of the links of its tree; one that is dearer than the savings waits.
2. Whoever was blocked by its savings during a period has the next one changed: halved in rate
   (period doubled) if it bought something dearer than H, otherwise made shorter,
   ``T_new = T · T_update / (T + T_update)``.  Whoever bought nothing counts as having bought for 0.
3. An affordable packet is sent with probability 1 / cost; otherwise it waits until the price of
   its own tree is another one, or for a short time, and draws again.  That wait is not "blocked".
   The price of a link that the packet does not cross is no reason to draw: a sender beside many
   congested links would otherwise draw more often than its equals.

The functions take one sender's numbers or an array with one for each sender.
"""

from __future__ import annotations

import numpy as np

from penstock.services.multicast.laws.numbers import Flags, Numbers
from penstock.services.multicast.parameters import PaperLaw


def next_period_ns(
    period_ns: Numbers,
    *,
    blocked: Flags,
    dearest_bought: Numbers,
    update_min_ns: int,
    law: PaperLaw,
) -> Numbers:
    """The salary period that follows (Equations 10 and 11, within bounds)."""
    shorter = period_ns * update_min_ns / (period_ns + update_min_ns)
    changed = np.where(np.greater(dearest_bought, law.threshold), 2 * period_ns, shorter)
    bounded = np.minimum(np.maximum(changed, law.shortest_period_ns), law.longest_period_ns)
    return np.where(blocked, bounded, period_ns)


def paid(savings: Numbers, salary: Numbers, law: PaperLaw) -> Numbers:
    """The savings after payday."""
    return np.minimum(savings + salary, law.prohibitive_cost)


def send_probability(cost: Numbers) -> Numbers:
    """With which probability an affordable packet is sent at once."""
    return 1.0 / np.maximum(cost, 1.0)
