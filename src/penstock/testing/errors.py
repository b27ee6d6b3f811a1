"""What goes wrong in a test, as opposed to in the application that it tests."""

from __future__ import annotations


class BrokerMisused(RuntimeError):
    """The test asks for something that the broker cannot do in its present state."""


class TimeLimitReached(RuntimeError):
    """More virtual time has passed than the test may take: something waits for what never comes."""
