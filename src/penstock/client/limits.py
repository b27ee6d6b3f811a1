"""Checks the limits of the protocol before a request is sent.

A broker ends the connection of a client that breaks a limit (``core/limits.py``).  These checks
raise an error in the caller instead, with the name of the limit.
"""

from __future__ import annotations

from penstock.client.errors import LimitExceeded
from penstock.core.limit_check import violation
from penstock.core.limits import LONGEST_NAME, LONGEST_SELECTOR
from penstock.core.message import Message


def check_name(what: str, name: str) -> None:
    """Raise ``LimitExceeded`` if a name is too long for the protocol."""
    if len(name) > LONGEST_NAME:
        raise LimitExceeded(
            f"the name of a {what} that begins {name[:32]!r} has {len(name)} characters; at most "
            f"{LONGEST_NAME} are allowed"
        )


def check_selector(selector: str) -> None:
    """Raise ``LimitExceeded`` if a selector is too long; the broker checks the rest."""
    if len(selector) > LONGEST_SELECTOR:
        raise LimitExceeded(
            f"a selector of {len(selector)} characters; at most {LONGEST_SELECTOR} can be sent: "
            "split it into several subscriptions"
        )


def check_request(request: Message) -> None:
    """Raise ``LimitExceeded`` if a request breaks a limit of its type."""
    problem = violation(request)
    if problem:
        raise LimitExceeded(problem)
