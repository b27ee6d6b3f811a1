"""The types of the policies' arguments: one sender's number, or an array with one for each sender.

A policy is the same arithmetic for a broker, which asks for one sender, and for a run of eight
thousand senders, which has an array of them.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = float | NDArray[np.float64]
Flags: TypeAlias = bool | NDArray[np.bool_]
