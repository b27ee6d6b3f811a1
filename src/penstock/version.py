"""The version of Penstock, and which parts of it run as compiled code."""

from __future__ import annotations

from importlib.util import find_spec

__version__ = "0.1.0"


def compiled_parts() -> list[str]:
    """The compiled parts: messages (``speedups/``), the simulator (``make compiled``)."""
    parts = ["messages"] if find_spec("penstock_speedups") is not None else []
    found = find_spec("penstock.sim.scheduler")
    if found is not None and not str(found.origin).endswith(".py"):
        parts.append("simulator")
    return parts


def version_line() -> str:
    """The output of ``penstock --version``."""
    parts = compiled_parts()
    return f"{__version__} (compiled: {', '.join(parts)})" if parts else __version__
