"""Sending to groups, as the application sees it."""

from __future__ import annotations

from penstock.client.publishing.publisher import Publisher


class GroupSender(Publisher):
    """A publisher whose messages go to groups; a receipt says that all members' brokers have it."""
