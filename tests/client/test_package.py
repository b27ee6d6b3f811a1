import subprocess
import sys

import pytest

import penstock


def test_everything_that_is_offered_is_there() -> None:
    for name in penstock.__all__:
        assert getattr(penstock, name) is not None
    assert set(penstock.__all__) <= set(dir(penstock))


def test_what_is_not_offered_is_not_there() -> None:
    with pytest.raises(AttributeError, match="turbine"):
        penstock.turbine  # noqa: B018


def test_importing_the_package_imports_nothing_heavy() -> None:
    program = (
        "import sys, penstock; heavy = ('asyncio', 'numpy', 'pyarrow', 'msgspec'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
