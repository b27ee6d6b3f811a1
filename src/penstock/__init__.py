"""Penstock: message-oriented middleware that does not collapse under congestion."""

from penstock.version import __version__

__all__ = ["__version__"]
