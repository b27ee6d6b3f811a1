"""The error of a scenario that cannot be used."""

from __future__ import annotations

from penstock.core.configuration import ConfigurationError


class ScenarioError(ConfigurationError):
    """A scenario cannot be used; the message names the key and what to do."""
