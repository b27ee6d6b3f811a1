"""Moving averages, and Figure 5 (b)'s average age in particular.

``average ← α·average + (1 − α)·sample`` for each sample.  Samples that come together enter as
their mean: n equal samples one after another leave ``αⁿ·average + (1 − αⁿ)·sample``.
"""

from __future__ import annotations

from penstock.services.gossip.laws.numbers import Numbers


def moving_average(
    average: Numbers, sample_mean: Numbers, weight: float, samples: Numbers = 1
) -> Numbers:
    """The average after some samples; ``weight`` is the paper's α."""
    kept = weight**samples
    return kept * average + (1.0 - kept) * sample_mean


def initial_average_age(low_mark: float, high_mark: float) -> float:
    """Where the average age begins: half-way between the marks."""
    return (low_mark + high_mark) / 2
