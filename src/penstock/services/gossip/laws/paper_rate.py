"""The paper's law of rate adaptation: Figure 5 (c).

Every T:

1. a sender whose average age is above the high mark, who uses its tokens, and whose draw exceeds
   W, multiplies its rate by 1 + r_H;
2. a sender whose average age is below the low mark, or who leaves its tokens unused, multiplies
   it by 1 − r_L.

The average number of tokens is a moving average with the same α as the ages', sampled every T and
starting at half the bucket.
"""

from __future__ import annotations

import numpy as np

from penstock.services.gossip.laws.numbers import Numbers
from penstock.services.gossip.parameters import AdaptationParameters


def paper_rate(
    rate_msgs_per_s: Numbers,
    *,
    average_age: Numbers,
    average_tokens: Numbers,
    draw: Numbers,
    low_age_mark: Numbers,
    high_age_mark: Numbers,
    parameters: AdaptationParameters,
) -> Numbers:
    """The allowed rate for the next round; ``draw`` is uniform in [0, 1)."""
    half = parameters.bucket_tokens / 2
    uses_tokens = np.less(average_tokens, half)
    rises = np.greater(average_age, high_age_mark) & uses_tokens
    rises = rises & np.greater(draw, parameters.increase_threshold)
    falls = np.less(average_age, low_age_mark) | np.greater(average_tokens, half)
    rate = rate_msgs_per_s * np.where(rises, 1 + parameters.increase, 1.0)
    return bounded_rate(rate * np.where(falls, 1 - parameters.decrease, 1.0), parameters)


def bounded_rate(rate_msgs_per_s: Numbers, parameters: AdaptationParameters) -> Numbers:
    """The rate within its bounds."""
    lowest, highest = parameters.lowest_rate_msgs_per_s, parameters.highest_rate_msgs_per_s
    return np.minimum(np.maximum(rate_msgs_per_s, lowest), highest)
