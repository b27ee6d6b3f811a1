"""The type of the policies' arguments: one peer's number, or an array with one for each peer.

A policy is the same arithmetic for a machine, which has one rate, and for a run of a hundred
thousand peers, which has an array of them.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = float | NDArray[np.float64]
Flags: TypeAlias = np.bool_ | NDArray[np.bool_]
