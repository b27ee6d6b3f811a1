"""Network namespaces that a killed run left behind do not stand in the way of the next one."""

from __future__ import annotations

import subprocess

import pytest

from penstock.lab.namespaces import NoNamespaces, check_possible

NO_SUCH_PROCESS = 2**22 + 1
"""Beyond the largest process number that Linux gives."""


def test_what_a_killed_run_left_behind_is_taken_away() -> None:
    try:
        check_possible()
    except NoNamespaces as why:
        pytest.skip(str(why))
    orphan = f"penstock-{NO_SUCH_PROCESS}-pb"
    subprocess.run(["ip", "netns", "add", orphan], check=True)
    check_possible()

    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    assert orphan not in listed.stdout
