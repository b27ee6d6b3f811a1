"""Parses the addresses of brokers: ``penstock://host:port,host:port``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from penstock.client.errors import InvalidAddress

SCHEME: Final = "penstock://"
ENVIRONMENT_VARIABLE: Final = "PENSTOCK_URL"
MAX_PORT: Final = 65_535


class Address(msgspec.Struct, frozen=True):
    """One broker's address."""

    host: str
    port: int

    def __str__(self) -> str:
        """Format the address as in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_addresses(
    url: str | Sequence[str] | None, environment: Mapping[str, str] = os.environ
) -> tuple[Address, ...]:
    """The brokers in a URL, each once; without a URL, those in ``PENSTOCK_URL``."""
    if url is None:
        url = environment.get(ENVIRONMENT_VARIABLE)
        if not url:
            raise InvalidAddress(
                f"no broker was named: pass {SCHEME}host:port, or set {ENVIRONMENT_VARIABLE}"
            )
    urls = [url] if isinstance(url, str) else list(url)
    found = [address for each in urls for address in _parse_url(each)]
    if not found:
        raise InvalidAddress(f"no broker was named: pass at least one {SCHEME}host:port")
    return tuple(dict.fromkeys(found))


def _parse_url(url: str) -> list[Address]:
    if not url.startswith(SCHEME):
        raise InvalidAddress(f"{url!r} is not the address of a broker; write {SCHEME}host:port")
    rest = url.removeprefix(SCHEME).removesuffix("/")
    return [_parse_address(part, url) for part in rest.split(",")]


def _parse_address(part: str, url: str) -> Address:
    host, colon, port = part.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise InvalidAddress(
            f"{part!r} in {url!r}: put an IPv6 address in brackets, as in {SCHEME}[::1]:port"
        )
    if not host or not colon or not port.isascii() or not port.isdigit():
        raise InvalidAddress(f"{part!r} in {url!r} is not host:port")
    number = int(port)
    if not 0 < number <= MAX_PORT:
        raise InvalidAddress(f"{part!r} in {url!r}: a port is between 1 and {MAX_PORT}")
    return Address(host, number)
