"""The fixtures, in a project of their own."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

CONFTEST = 'pytest_plugins = ["penstock.testing.fixtures"]\n'

OPTIONS = (
    *("-p", "no:cacheprovider", "--strict-markers", "-W", "error"),
    *("-o", "asyncio_default_fixture_loop_scope=function"),
)


def test_the_fixtures_give_brokers(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        """
        import asyncio
        import pytest

        pytestmark = pytest.mark.penstock(queues=["orders"])

        @pytest.mark.asyncio
        async def test_asynchronous(penstock_broker):
            async with penstock_broker.connect() as client:
                await client.queues.send("orders", {"number": 1})
                await asyncio.sleep(3600)
            assert penstock_broker.queue("orders").waiting == 1

        @pytest.mark.penstock(name="other")
        @pytest.mark.asyncio
        async def test_the_nearest_marker_adds(penstock_broker):
            assert penstock_broker.name == "other"
            assert penstock_broker.queue("orders").waiting == 0

        def test_blocking(penstock_blocking_broker):
            with penstock_blocking_broker.connect() as client:
                client.queues.send("orders", {"number": 1})
            assert penstock_blocking_broker.queue("orders").waiting == 1
        """
    )
    pytester.runpytest_subprocess(*OPTIONS).assert_outcomes(passed=3)


def test_mistakes_fail_the_test_that_makes_them(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.penstock(limit_s=60)
        @pytest.mark.asyncio
        async def test_that_waits_for_ever(penstock_broker):
            async with penstock_broker.connect() as client:
                async for message in client.subscribe():
                    pass

        @pytest.mark.penstock("orders")
        def test_with_a_wrong_marker(penstock_blocking_broker): ...

        @pytest.mark.asyncio
        async def test_that_passes(penstock_broker):
            await penstock_broker.advance(60)
        """
    )
    result = pytester.runpytest_subprocess(*OPTIONS)
    result.assert_outcomes(failed=1, errors=1, passed=1)
    result.stdout.fnmatch_lines_random(
        ["*TimeLimitReached*still waits at *test_mistakes*", "*takes options by name*"]
    )
