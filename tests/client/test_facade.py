"""A service that is added brings its client with it, asyncio and blocking."""

from __future__ import annotations

from typing import Any

import pytest

import penstock
from penstock.client import client as client_module
from penstock.client.facade import ServiceFacade
from penstock.services.description import ServiceDescription
from penstock.services.registry import descriptions


class Sixth(ServiceFacade):
    """The facade of a service that the client has never heard of."""

    async def broker(self, *, deadline_s: float | None = None) -> str:
        return f"{self._context.name} waits {self._context.limit_s(deadline_s):g} s"


@pytest.fixture
def sixth(monkeypatch: pytest.MonkeyPatch) -> None:
    described = ServiceDescription("sixth", messages=(), client=f"{__name__}:Sixth")
    monkeypatch.setattr(client_module, "descriptions", lambda: (*descriptions(), described))


@pytest.mark.parametrize("name", [each.name for each in descriptions()])
async def test_every_service_has_a_facade_that_is_made_once(name: str, url: str) -> None:
    async with penstock.connect(url) as client:
        facade = client.service(name)
        assert isinstance(facade, ServiceFacade)
        assert client.service(name) is facade


async def test_an_unknown_service_is_refused(url: str) -> None:
    async with penstock.connect(url) as client:
        with pytest.raises(ValueError, match=r"no service 'pigeons'.*guaranteed, queues"):
            client.service("pigeons")


async def test_the_client_is_the_facade_of_the_guaranteed_service(url: str) -> None:
    async with penstock.connect(url) as client:
        assert client.service("guaranteed") is client
        assert client.service("queues") is client.queues


@pytest.mark.usefixtures("sixth")
async def test_a_sixth_service_needs_no_change_of_the_client(url: str) -> None:
    async with penstock.connect(url, name="me") as client:
        assert await client.service("sixth").broker(deadline_s=2) == "me waits 2 s"


@pytest.mark.usefixtures("sixth")
def test_its_blocking_half_is_made_too(url: str) -> None:
    with penstock.blocking.connect(url, name="me") as client:
        made: Any = client.service("sixth")
        assert made.broker() == "me waits 30 s"
        assert client.service("guaranteed") is client
        assert client.service("gossip").peer.__doc__
