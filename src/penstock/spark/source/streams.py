"""The driver's view of the streams: the pubends that a query reads, and their heads."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from penstock.client.blocking import client as blocking
from penstock.core.intervals import Tick
from penstock.core.trace import is_own_stream
from penstock.services.guaranteed.messages import StreamBounds
from penstock.spark.source.options import BadOption, SourceOptions
from penstock.spark.source.read import open_client


class Streams:
    """Asks a broker over one connection, which is opened on demand and kept.

    It is not pickled: a task opens its own connection.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._client: blocking.Client | None = None

    @property
    def client(self) -> blocking.Client:
        """The connection."""
        if self._client is None:
            self._client = open_client(self._options, "driver")
        return self._client

    def bounds(self) -> dict[str, StreamBounds]:
        """What can be read now of each of the query's pubends."""
        return chosen(self._options, self.client.streams())

    def hold(self, ticks: Mapping[str, Tick]) -> None:
        """Make the logs keep everything from these ticks on, if the query has a cursor."""
        if self._options.cursor:
            self.client.move_cursor(self._options.cursor, ticks)

    def close(self) -> None:
        """Disconnect."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


def chosen(options: SourceOptions, streams: Mapping[str, StreamBounds]) -> dict[str, StreamBounds]:
    """The pubends that match the option's patterns; by default all except brokers' own."""
    if not options.pubends:
        return {
            pubend: bounds
            for pubend, bounds in sorted(streams.items())
            if not is_own_stream(pubend)
        }
    found = {
        pubend: bounds
        for pubend, bounds in sorted(streams.items())
        if any(fnmatchcase(pubend, pattern) for pattern in options.pubends)
    }
    for pattern in options.pubends:
        if not any(fnmatchcase(pubend, pattern) for pubend in found):
            here = ", ".join(sorted(streams)) or "none"
            raise BadOption(f"option pubends: there is no pubend {pattern!r} (here: {here})")
    return found
