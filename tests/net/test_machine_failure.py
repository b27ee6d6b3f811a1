"""A broker whose machine raises stops, names the sender, and starts again from its log."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from penstock.core.machine import Fact, Received
from penstock.core.why import WhyRequest
from penstock.net.broker import serve as serving
from penstock.net.broker.config import TelemetryConfig, broker_config
from penstock.net.broker.serve import Ready
from penstock.overlay.node import BrokerNode

PATIENCE_S = 60


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions that make a broker's machine raise."""
    names = ["boom"]
    handle = BrokerNode.handle

    def broken(self: BrokerNode, fact: Fact, *, now: int) -> Any:
        if (
            isinstance(fact, Received)
            and isinstance(fact.message, WhyRequest)
            and fact.message.name in names
        ):
            raise IndexError("a bug")
        return handle(self, fact, now=now)

    monkeypatch.setattr(BrokerNode, "handle", broken)
    return names


async def test_the_failure_is_told_with_its_sender(
    brokers: Any, raising: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    server = await brokers.start("pb")
    client = await brokers.client(server)
    with caplog.at_level(logging.CRITICAL, logger="penstock.net.broker.server"):
        client.send(WhyRequest("boom"))
        async with asyncio.timeout(PATIENCE_S):
            failure = await server.failure

    assert "Received(WhyRequest) from client/1 (" in str(failure)
    assert "IndexError: a bug" in str(failure)
    assert str(failure) in caplog.text

    await brokers.abandon(server)
    await client.closed()


async def test_what_was_acknowledged_is_there_after_the_failure(
    brokers: Any, raising: list[str]
) -> None:
    server = await brokers.start("pb")
    client = await brokers.client(server)
    await client.publish("p", 0, [b"0", b"1", b"2"])
    client.send(WhyRequest("boom"))
    async with asyncio.timeout(PATIENCE_S):
        await server.failure
    await brokers.abandon(server)

    again = await brokers.client(await brokers.start("pb"))
    await again.subscribe("s", start="earliest")
    assert await again.delivered("s", 3) == [b"0", b"1", b"2"]


def serve_until_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int
) -> tuple[list[Ready], int]:
    """Run ``serve`` with a machine that raises at its first deadline, so many times."""
    monkeypatch.setattr("penstock.net.broker.restarts.FIRST_PAUSE", 0)
    handle = BrokerNode.handle
    handled = 0

    def broken(self: BrokerNode, fact: Fact, *, now: int) -> Any:
        nonlocal handled
        handled += 1
        if handled <= failures:
            raise IndexError("a bug")
        os.kill(os.getpid(), signal.SIGTERM)
        return handle(self, fact, now=now)

    monkeypatch.setattr(BrokerNode, "handle", broken)
    ready: list[Ready] = []
    config = broker_config(
        name="pb",
        data_dir=str(tmp_path / "pb"),
        listen="127.0.0.1:0",
        telemetry=TelemetryConfig(interval_s=0.01),
    )
    serving.serve(config, on_ready=ready.append)
    return ready, handled


def test_serve_starts_the_broker_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready, handled = serve_until_killed(tmp_path, monkeypatch, failures=2)

    assert len(ready) == 1
    assert handled > 2


def test_serve_gives_up_when_the_broker_fails_too_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(serving.MachineFailed, match="a bug"):
        serve_until_killed(tmp_path, monkeypatch, failures=1000)
