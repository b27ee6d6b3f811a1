"""Connects a sink to the broker that hosts its pubend.

A broker that does not host the pubend refuses before anything is staged, so the brokers of ``url``
are asked one after another:

1. First every broker has a short time to be reached, so that one that is down costs little.
2. If none of those hosts the pubend, each that could not be reached has the whole ``timeout``.
3. What was staged at one broker is never committed at another: a connection has one address.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from penstock.client.addresses import SCHEME, Address, parse_addresses
from penstock.client.errors import ConnectionFailed
from penstock.spark.sink.options import SinkOptions

if TYPE_CHECKING:
    from penstock.client.blocking import client as blocking

Result = TypeVar("Result")

FIRST_ROUND_S: Final = 2.0
"""Long for a broker that is there, short for a job whose broker is the next in the list."""


class NoHost(RuntimeError):
    """No broker that could be reached hosts the pubend."""


def at_host(options: SinkOptions, purpose: str, act: Callable[[blocking.Client], Result]) -> Result:
    """Do something at the broker that hosts the sink's pubend.

    ``act`` is called for one broker after another, until one does not refuse the pubend.
    """
    # Imported here: for every batch Spark starts a process that only plans the write.
    from penstock.client.guaranteed.sink import SinkElsewhereError

    addresses = parse_addresses(options.url)
    problems: list[str] = []
    unreached = list(addresses)
    for limit_s in _rounds(options, len(addresses)):
        waiting, unreached = unreached, []
        for address in waiting:
            try:
                client = _connect(options, purpose, address, limit_s)
            except ConnectionFailed:
                unreached.append(address)
                continue
            with client:
                try:
                    return act(client)
                except SinkElsewhereError as error:
                    problems.append(f"{address}: {error}")
    problems += [f"{address} could not be reached" for address in unreached]
    raise NoHost(
        f"no broker of {options.url} took the rows: {'; '.join(problems)}. Give the url of the "
        "broker that hosts the pubend"
    )


def _rounds(options: SinkOptions, brokers: int) -> tuple[float, ...]:
    if brokers == 1 or options.timeout_s <= FIRST_ROUND_S:
        return (options.timeout_s,)
    return FIRST_ROUND_S, options.timeout_s


def _connect(
    options: SinkOptions, purpose: str, address: Address, limit_s: float
) -> blocking.Client:
    from penstock.client.blocking import client as blocking
    from penstock.client.options import ClientOptions
    from penstock.client.session import SessionOptions

    return blocking.connect(
        f"{SCHEME}{address}",
        name=f"spark-{purpose}",
        options=ClientOptions(
            deadline_s=options.timeout_s, session=SessionOptions(connect_within_s=limit_s)
        ),
    )
