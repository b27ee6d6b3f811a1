"""The result of a run of a multicast scenario: rates of clients, and buffers of links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np

from penstock.papers.cost_benefit.scenario import PACKET_BYTES

SAMPLE_S: Final = 1.0
"""Rates and highest buffers are taken over this time, as in the paper's figures."""


class MulticastResult(msgspec.Struct, frozen=True):
    """Rates are Mbit/s of 1000-byte packets, buffers are packets."""

    clients_mbit_per_s: dict[str, list[float]]
    """The rate of each client of each class of senders after the warm-up."""
    sent_by_second: dict[str, list[float]]
    highest_by_second: dict[str, list[float]]
    """The highest buffer of each link that had one."""
    highest_buffer: dict[str, float]
    """After the warm-up."""
    start_up_buffer: float
    """The highest buffer of any link during the warm-up."""
    received_by_second: dict[str, list[float]] = {}
    control_share: dict[str, float] = {}
    """The share of the narrowest link's bandwidth that the prices of each link took."""
    ridden_share: dict[str, float] = {}
    """The share of the prices sent over each link that were attached to messages."""

    def class_mbit_per_s(self, name: str) -> float:
        """The rate of a class of senders together."""
        return sum(self.clients_mbit_per_s[name])

    @property
    def total_mbit_per_s(self) -> float:
        """The rate of all senders."""
        return sum(map(sum, self.clients_mbit_per_s.values()))

    def variation(self, name: str) -> float:
        """The coefficient of variation between the clients of a class."""
        rates = np.array(self.clients_mbit_per_s[name])
        return float(rates.std() / rates.mean())

    @property
    def jain(self) -> float:
        """Jain's index of fairness over all clients."""
        rates = np.concatenate([np.array(each) for each in self.clients_mbit_per_s.values()])
        return float(rates.sum() ** 2 / (len(rates) * (rates**2).sum()))

    @property
    def highest(self) -> float:
        """The highest buffer of any link after the warm-up."""
        return max(self.highest_buffer.values(), default=0.0)


class Sampler:
    """Counts packets and buffers, second by second."""

    def __init__(self, links: list[str], warm_up_s: float) -> None:
        self._warm_up_s = warm_up_s
        self._sent: dict[str, dict[int, float]] = {}
        self._clients: dict[object, float] = {}
        self._highest: dict[str, dict[int, float]] = {link: {} for link in links}
        self._carried: dict[str, dict[int, float]] = {}

    def sent(self, at_s: float, client: object, sender: str, packets: float = 1.0) -> None:
        """Count a packet of a client that was accepted."""
        second = int(at_s / SAMPLE_S)
        seconds = self._sent.setdefault(sender, {})
        seconds[second] = seconds.get(second, 0.0) + packets
        if at_s >= self._warm_up_s:
            self._clients[client] = self._clients.get(client, 0.0) + packets

    def carried(self, at_s: float, where: str) -> None:
        """Count a packet that crossed a link, or reached a receiver."""
        seconds = self._carried.setdefault(where, {})
        second = int(at_s / SAMPLE_S)
        seconds[second] = seconds.get(second, 0) + 1

    def buffered(self, at_s: float, link: str, packets: float) -> None:
        """Record the buffer of a link."""
        seconds = self._highest.setdefault(link, {})
        second = int(at_s / SAMPLE_S)
        if packets > seconds.get(second, 0):
            seconds[second] = packets

    def sent_by_client(self, end_s: float) -> dict[object, float]:
        """Mbit/s after the warm-up."""
        factor = PACKET_BYTES * 8e-6 / (end_s - self._warm_up_s)
        return {client: number * factor for client, number in self._clients.items()}

    def result(self, end_s: float, clients: Mapping[str, list[float]]) -> MulticastResult:
        """Everything together."""
        seconds = round(end_s / SAMPLE_S)
        warm = round(self._warm_up_s / SAMPLE_S)
        highest = {
            link: [float(each.get(second, 0.0)) for second in range(seconds)]
            for link, each in self._highest.items()
            if each
        }
        return MulticastResult(
            clients_mbit_per_s=dict(clients),
            sent_by_second=_rates(self._sent, seconds),
            received_by_second=_rates(self._carried, seconds),
            highest_by_second=highest,
            highest_buffer={link: max(each[warm:]) for link, each in highest.items()},
            start_up_buffer=max((max(each[:warm]) for each in highest.values()), default=0.0),
        )


def _rates(counts: Mapping[str, Mapping[int, float]], seconds: int) -> dict[str, list[float]]:
    factor = PACKET_BYTES * 8e-6 / SAMPLE_S
    return {
        name: [each.get(second, 0) * factor for second in range(seconds)]
        for name, each in counts.items()
    }
