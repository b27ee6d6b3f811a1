"""Processor time and memory of a process and its descendants, from ``/proc``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
PARENT, USER_TICKS, SYSTEM_TICKS = 1, 11, 12
"""Positions in ``/proc/PID/stat`` after the name, which may contain anything."""


def cpu_s(process: int) -> float:
    """Processor seconds that a process and its descendants have used."""
    spent = 0.0
    for each in family(process):
        fields = _stat(each)
        if fields:
            spent += (int(fields[USER_TICKS]) + int(fields[SYSTEM_TICKS])) / TICKS_PER_S
    return spent


def memory_bytes(process: int) -> int:
    """Memory of a process and its descendants; shared pages count once."""
    return sum(_proportional_bytes(each) for each in family(process))


def family(process: int) -> list[int]:
    """A process and all its descendants."""
    parents = {}
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            fields = _stat(int(directory.name))
            if fields:
                parents[int(directory.name)] = int(fields[PARENT])
    found = [process]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def _stat(process: int) -> list[str]:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _proportional_bytes(process: int) -> int:
    """Proportional set size: each page is divided among the processes that map it."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
