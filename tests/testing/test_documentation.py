"""Every snippet of docs/how-to/test-your-application.md runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

PAGE = Path(__file__).parents[2] / "docs/how-to/test-your-application.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
CONFTEST = "# conftest.py\n"


def test_the_snippets_are_tests_that_pass(pytester: pytest.Pytester) -> None:
    count = 0
    for number, snippet in enumerate(SNIPPETS):
        if snippet.startswith(CONFTEST):
            pytester.makeconftest(snippet)
        else:
            count += len(re.findall(r"^(?:async )?def test_", snippet, re.MULTILINE))
            pytester.makepyfile(**{f"test_snippet_{number}": snippet})
    assert count >= 9
    result = pytester.runpytest_subprocess(
        *("-p", "no:cacheprovider", "--strict-markers", "-W", "error"),
        *("-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function"),
    )
    # One of them runs with five seeds.
    result.assert_outcomes(passed=count + 4)


def test_what_it_names_exists() -> None:
    import penstock.testing as testing

    text = PAGE.read_text(encoding="utf-8")
    for name in re.findall(r"`(?:await )?broker\.(\w+)", text):
        assert hasattr(testing.Broker, name) or name in ("url",), name
    for name in re.findall(r"penstock\.testing\.(\w+)", text):
        assert name == "fixtures" or name in testing.__all__, name
