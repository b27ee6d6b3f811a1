"""The clients of the datagram service in a scenario file."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from penstock.lab.scenario.curve import Curve
from penstock.lab.scenario.model import Client, Keys, NotNegative, Positive, Rate, Seconds, Table


class DatagramClient(Client, frozen=True, kw_only=True):
    """What publishers and subscribers have in common."""

    parameters: Keys = msgspec.field(default_factory=dict)
    """Its own values of ``parameters.datagram``."""


class DatagramPublisher(DatagramClient, frozen=True, kw_only=True):
    """A program that publishes at a rate, and does without the messages that are refused."""

    ends_itself: ClassVar[bool] = True

    rate_msgs_per_s: Curve
    """Linear between its points; in seconds of the scenario."""
    attributes: dict[str, str | int | float | bool] = msgspec.field(default_factory=dict)
    """Constants, or texts that say how values vary, such as ``cycle:0..5``."""
    message_bytes: NotNegative = 0
    """The length of a datagram with one message; 0 means the shortest."""
    settle_s: Seconds = 1.0
    """How long it waits after its start before it publishes: until all brokers know of a new
    publisher, which takes milliseconds, its messages reach nobody."""


class RandomSelector(Table, frozen=True, kw_only=True):
    """How a random selector is drawn: ``a0 = 17 AND a3 = 0``."""

    attributes: Positive
    """How many attributes messages have: a0, a1 and so on."""
    values: Positive
    """How many values an attribute has; the value is drawn by Zipf's law."""
    zipf_exponent: Rate
    weights: tuple[Rate, ...]
    """How often a selector has 1, 2, 3 … comparisons."""


class DatagramSubscriber(DatagramClient, frozen=True, kw_only=True):
    """A program that receives what its selector selects."""

    selector: str = ""
    """Everything, if it is empty."""
    random_selector: RandomSelector | None = None
    """Draws the selector instead."""
