"""Sending to a queue, as the application sees it."""

from __future__ import annotations

from penstock.client.publishing.publisher import Publisher


class QueueSender(Publisher):
    """A publisher whose messages go to one queue; a receipt's ``tick`` is a position there."""
