"""Which of several brokers takes the rows of a sink."""

from __future__ import annotations

import pytest

from penstock.client.blocking import client as blocking
from penstock.spark.sink.host import NoHost, at_host
from penstock.spark.sink.options import SinkOptions
from tests.spark.conftest import StartBroker, url_of

DOWN = "127.0.0.1:1"
"""Nobody listens there."""


@pytest.fixture(scope="module")
def brokers(start_broker: StartBroker) -> str:
    """Two brokers: the first hosts x, the second y."""
    urls = [url_of(start_broker(name, f'pubends = ["{name}"]')) for name in ("x", "y")]
    return ",".join(each.removeprefix("penstock://") for each in urls)


def commit(client: blocking.Client, pubend: str) -> int:
    return client.sink(f"to {pubend}", pubend=pubend).commit(0, {})


@pytest.mark.parametrize("pubend", ["x", "y"])
def test_the_broker_that_hosts_the_pubend_takes_the_rows(brokers: str, pubend: str) -> None:
    options = SinkOptions(f"penstock://{DOWN},{brokers}", pubend, timeout_s=20.0)
    assert at_host(options, "test", lambda client: commit(client, pubend)) == 0
    address = brokers.split(",")["xy".index(pubend)]
    with blocking.connect(f"penstock://{address}") as client:
        assert f"to {pubend}" in [each.name for each in client.sinks().sinks]


def test_without_a_host_the_error_names_all_of_them(brokers: str) -> None:
    options = SinkOptions(f"penstock://{brokers},{DOWN}", "z", timeout_s=3.0)
    with pytest.raises(NoHost) as error:
        at_host(options, "test", lambda client: commit(client, "z"))
    assert "this broker hosts no pubend 'z' (it hosts: x)" in str(error.value)
    assert "(it hosts: y)" in str(error.value)
    assert f"{DOWN} could not be reached" in str(error.value)
