"""The improved law for a sender: the rate that the price leaves it, and a slow start.

1. A sender's rate is what its benefit function wants at the sum of the prices of its tree, and at
   most its *ramp*.
2. At the end of each doubling time the ramp is set to twice the rate that was granted, if the
   sender wanted more, and otherwise to twice what it used, falling by half at most in each such
   time: no sender can do more than double in it, also when a price vanishes or it was idle before.
3. A packet says as *paid* the price that would have led to the rate that was granted.

The functions take one sender's numbers or an array with one for each sender.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.core.clock import Duration
from penstock.services.multicast.laws.benefit import rate_at
from penstock.services.multicast.laws.numbers import Flags, Numbers
from penstock.services.multicast.parameters import ImprovedLaw

MOST_HALVINGS: Final = 64
"""More take any rate to the first one."""


def granted_rate(price: Numbers, ramp: Numbers, weight: Numbers, exponent: float) -> Numbers:
    """The rate in packets a second that a sender has now."""
    return np.minimum(rate_at(price, weight, exponent), ramp)


def doubling_ns(round_trip_ns: Duration, update_min_ns: Duration) -> Duration:
    """How long a sender takes to double its rate: twice what news of it takes to come back."""
    return 2 * (round_trip_ns + update_min_ns)


def next_ramp(
    ramp: Numbers,
    *,
    granted: Numbers,
    used: Numbers,
    wanted_more: Flags,
    law: ImprovedLaw,
    periods: int = 1,
) -> Numbers:
    """The ramp for the next doubling time, after so many of them; rates are packets a second."""
    fallen = ramp * 0.5 ** min(periods, MOST_HALVINGS)
    idle = np.minimum(ramp, np.maximum(2 * used, fallen))
    ramp = np.where(wanted_more, 2 * granted, idle)
    first, highest = law.first_rate_packets_per_s, law.highest_rate_packets_per_s
    return np.minimum(np.maximum(ramp, first), highest)
