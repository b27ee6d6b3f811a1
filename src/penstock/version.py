"""The one place that holds the version, and says in which form the code runs."""

from __future__ import annotations

from importlib.util import find_spec

__version__ = "0.1.0"


def is_compiled() -> bool:
    """Whether the simulator's hot modules are extension modules (make compiled)."""
    found = find_spec("penstock.sim.scheduler")
    return found is not None and not str(found.origin).endswith(".py")


def version_line() -> str:
    """What ``penstock --version`` prints."""
    return f"{__version__} (compiled)" if is_compiled() else __version__
