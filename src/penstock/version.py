"""The one place that holds the version, and says in which form the code runs."""

from __future__ import annotations

from importlib.util import find_spec

__version__ = "0.1.0"


def compiled_parts() -> list[str]:
    """What runs as compiled code: messages (``speedups/``), the simulator (``make compiled``)."""
    parts = ["messages"] if find_spec("penstock_speedups") is not None else []
    found = find_spec("penstock.sim.scheduler")
    if found is not None and not str(found.origin).endswith(".py"):
        parts.append("simulator")
    return parts


def version_line() -> str:
    """What ``penstock --version`` prints."""
    parts = compiled_parts()
    return f"{__version__} (compiled: {', '.join(parts)})" if parts else __version__
