"""The improved law: steer by copies, calibrate by receipts.

The paper's law steers by the age of drops, whose critical value depends on the group's size, and
lets every sender obey the poorest buffer although what counts is the room in all of them.

1. **Copies.**  A peer counts the copies that arrive for each new event, c.  Push gossip covers
   π = 1 − exp(−c·π) of the group, whatever its size, so c = 3.15 means 95 %.  And c is what the
   buffers of the whole group can carry, divided by the rate of events: if c is a tenth above its
   target, so can the rate be.  The law multiplies the rate by (c / target) to a power that leaves
   the correction spread over as many rounds as the measurement takes.
2. **Receipts.**  The theory leaves out lost datagrams, uneven views and late copies.  Each peer
   measures the share of events that it received (receipts.py), and gossip averages it.  The
   copies that the theory needs for that share, divided by the copies that the peer counted when
   those events arrived, are the *yield* of a copy; the target is what the theory needs for the
   share that was asked for, divided by the yield.  Share and copies are of the same events, so a
   change of load in between is not mistaken for a change of yield.  Counts vary from round to
   round, most of all in a small group of senders, and ten copies cover hardly more than five: what
   is averaged beside the share is therefore the share that the theory expects of each round's
   copies, not the copies.
3. **Equal shares.**  Gossip also averages the allowed rates of the senders that are held back,
   and each of these moves towards it: senders that began unequally become equal, and the noise of
   one sender's measurements is shared.  Who wants less than is allowed has no part in this, or a
   few that want much would be drawn down to the many that want little.  A sender compares itself
   with what it hears from others: its own rate is most of its own mean where senders are few.
   What it hears is some rounds old, so while copies are clearly spare nobody is drawn down.  While
   there are clearly too few nobody rises, but a sender below the mean falls less or not at all:
   counts scatter from peer to peer, and a sender that counts few by chance would otherwise fall
   below the others and stay there.
4. **Unused rates follow their use.**  A sender that leaves its tokens unused is not held back by
   its rate, so changing that changes nothing that could be measured: a law that goes on correcting
   it winds up.  But c was counted while the senders used what they used, so use times c / target
   is what the group can carry of it; the rate goes there, at the pace of any other change.  It is
   at most a little more than what is used, enough to grow from.  Under the paper's law an unused
   rate decays until its sender waits although there is room, again and again.

5. **Small groups.**  Where each gossip goes to every member, one copy is enough, and there may
   never be as many as the theory asks for.  There the rate rises while no buffer drops anything;
   copies steer it only when one does.

Whatever one peer says enters only through the two gossiped averages, clipped and with a small
weight, and the yield keeps within bounds.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.services.gossip.laws.averages import moving_average
from penstock.services.gossip.laws.numbers import Flags, Numbers
from penstock.services.gossip.laws.paper_rate import bounded_rate
from penstock.services.gossip.parameters import AdaptationParameters

COPIES_WEIGHT: Final = 0.75
"""Copies and new events are summed with this weight for each earlier round: four rounds."""

RATE_POWER: Final = 0.2
"""Which part of the correction is made in a round.  With an average over four rounds, and four
more until a change of rate shows everywhere, a larger part overshoots."""

LARGEST_CORRECTION: Final = 1.5
"""How far c may seem to be off its target."""

LARGEST_STEP: Final = LARGEST_CORRECTION**RATE_POWER
"""A round changes a rate by no more than this: 8 %, beside what makes the senders equal."""

YIELD_WEIGHT: Final = 0.95
"""α of the yield's moving average, in rounds: the yield belongs to the group, not to the hour."""

LOWEST_YIELD: Final = 0.6
HIGHEST_YIELD: Final = 1.25
"""What a yield may be.  With 0.6 the group is at least at a half of its capacity; the highest is
what perfectly balanced targets could give."""

TELLING_SHARES: Final = (0.5, 0.99)
"""Shares that tell the yield: near 1 a small error of the share is a large one of the copies."""

LEAST_COPIES: Final = 1.5
SHARE_STEPS: Final = 16
"""With 1.5 copies an event reaches 58 %, fewer tell nothing; each step of the iteration that finds
the share leaves at most 0.63 of the error, 0.2 of it where a group works."""

VOICES_WEIGHT: Final = 0.6
"""What all that is heard in a round counts beside what is known."""

WEIGHT_KEPT: Final = 0.5
"""What remains of a mean's weight after a round.  1 + 0.6 times this is less than 1, so a value
that its owner does not renew fades, however many peers repeat it: the stale word of a thousand
that publish nothing does not hold back those that do."""

OWN_WEIGHT: Final = 0.2
"""What one's own value counts in every round."""

SMALLEST_WEIGHT: Final = 1e-6
"""What has faded below this is not known any more."""

LARGEST_RATIO: Final = 2.0
"""A gossiped value counts as at most twice and at least half of what is known, and a mean rate of
a sender's own: what makes senders equal adds at most a fifth in a round and takes a tenth."""

HELD_UP_TO: Final = 1.05
"""Copies within this factor of their target are as many as wanted, for the noise of the count."""

EQUALISING: Final = 0.2
"""How far a sender's rate moves towards the mean in a round."""

SPARE: Final = 1.2
"""A sender that does not use up its rate is allowed up to this much of what it uses."""

USED_WEIGHT: Final = 0.8
"""α of the rate that a sender uses, sampled every round."""


def copies_for_each_event(copies: Numbers, new_events: Numbers) -> Numbers:
    """c; copies include the first one of each event."""
    return copies / np.maximum(new_events, 1e-9)


def improved_rate(
    rate_msgs_per_s: Numbers,
    *,
    copies: Numbers,
    target: Numbers,
    average_tokens: Numbers,
    used_rate_msgs_per_s: Numbers,
    mean_rate_msgs_per_s: Numbers,
    parameters: AdaptationParameters,
) -> Numbers:
    """The allowed rate for the next round."""
    off = np.clip(copies / target, 1 / LARGEST_CORRECTION, LARGEST_CORRECTION)
    lower, upper = rate_msgs_per_s / LARGEST_RATIO, rate_msgs_per_s * LARGEST_RATIO
    mean = np.minimum(np.maximum(mean_rate_msgs_per_s, lower), upper)
    mean = np.where(off > HELD_UP_TO, np.maximum(mean, rate_msgs_per_s), mean)
    shared = rate_msgs_per_s + EQUALISING * (mean - rate_msgs_per_s)
    steered = shared * off**RATE_POWER
    steered = np.where(off < 1 / HELD_UP_TO, np.minimum(steered, rate_msgs_per_s), steered)
    carried = used_rate_msgs_per_s * np.minimum(off, SPARE)
    lowest, highest = rate_msgs_per_s / LARGEST_STEP, rate_msgs_per_s * LARGEST_STEP
    followed = np.minimum(np.maximum(carried, lowest), highest)
    held_back = is_held_back(average_tokens, parameters)
    return bounded_rate(np.where(held_back, steered, followed), parameters)


def is_held_back(average_tokens: Numbers, parameters: AdaptationParameters) -> Flags:
    """Whether a sender uses up what it is allowed, rather than leaving its bucket half full."""
    return np.less_equal(average_tokens, parameters.bucket_tokens / 2)


def copies_needed(share: Numbers) -> Numbers:
    """The copies for each new event that cover this share: c = −ln(1 − π) / π."""
    needed: Numbers = -np.log1p(-np.asarray(share)) / share
    return needed


def share_reached(copies: Numbers) -> Numbers:
    """The share that so many copies for each new event cover: π = 1 − exp(−c·π)."""
    copies = np.maximum(copies, LEAST_COPIES)
    share: Numbers = np.ones_like(copies)
    for _ in range(SHARE_STEPS):
        share = 1 - np.exp(-copies * share)
    return share


def observed_yield(copy_yield: Numbers, *, share: Numbers, copies_then: Numbers) -> Numbers:
    """The yield after one more round: what the copies of some events did for their share."""
    lowest, highest = TELLING_SHARES
    telling = np.greater(share, lowest) & np.less(share, highest)
    clipped = np.minimum(np.maximum(share, lowest), highest)
    sample = copies_needed(clipped) / np.maximum(copies_then, 1.0)
    bounded = np.minimum(np.maximum(sample, LOWEST_YIELD), HIGHEST_YIELD)
    return np.where(telling, moving_average(copy_yield, bounded, YIELD_WEIGHT), copy_yield)


def copies_target(copy_yield: Numbers, parameters: AdaptationParameters) -> Numbers:
    """How many copies of each event to aim for."""
    return copies_needed(parameters.receipt_target) / copy_yield


def mixed(
    mean: Numbers, weight: Numbers, heard_sum: Numbers, heard_weight: Numbers, voices: Numbers
) -> tuple[Numbers, Numbers]:
    """A gossiped mean and its weight, after a round in which weighted values were heard."""
    of_each_voice = VOICES_WEIGHT / np.maximum(voices, 1.0)
    total = weight + of_each_voice * heard_weight
    known = np.greater(total, SMALLEST_WEIGHT)
    value = (weight * mean + of_each_voice * heard_sum) / np.maximum(total, SMALLEST_WEIGHT)
    kept = np.where(known, np.minimum(WEIGHT_KEPT * total, 1.0), 0.0)
    return np.where(known, value, mean), kept


def with_own(mean: Numbers, weight: Numbers, own: Numbers) -> tuple[Numbers, Numbers]:
    """The same after one's own value has been put in."""
    total = weight + OWN_WEIGHT
    return (weight * mean + OWN_WEIGHT * own) / total, np.minimum(total, 1.0)
