"""What a service offers to a client: one facade for each service, all built in one way.

A service's description names its facade (``ServiceDescription.client_facade``).  ``Client.service``
builds it as ``Facade(context)`` when it is first asked for, once for each client.
"""

from __future__ import annotations

from penstock.client.context import ClientContext


class ServiceFacade:
    """Base of all facades."""

    def __init__(self, context: ClientContext) -> None:
        """``context`` is what the facade may use of its client."""
        self._context = context
