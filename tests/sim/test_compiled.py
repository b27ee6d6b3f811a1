"""The hot modules, compiled and interpreted, produce the same histories, event by event.

Both forms run from copies of the sources, so that leftovers of ``make compiled`` in the tree do not
affect the test.
"""

import ast
import json
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import hashlib, json
from random import Random

from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.machine import Priority
from penstock.lab.scenario.random_scenario import random_scenario
from penstock.lab.run import run
from penstock.lab.worlds.sim import SimRun
from penstock.overlay import drop_tail, link_queue
from penstock.sim import link, scheduler
from penstock.version import version_line


def traffic(seed):
    # Everything that a link does: both priorities, flows, best effort, cross traffic, loss,
    # jitter, changes of all these and failures, in a ring where what arrives is sent on.
    random, clock, history, ring = Random(seed), scheduler.Scheduler(0), [], []

    def arrival(number):
        def arrived(message):
            history.append((clock.now, number, message))
            if message < 3000:
                ring[(number + 1) % 4].send(message + 1000, 300, Priority.DATA, "onward")
        return arrived

    for number in range(4):
        model = link.LinkModel(
            bandwidth_bytes_per_s=random.choice([0, 100_000, 1_000_000]),
            latency_ns=random.choice([0, 1000, MILLISECOND]),
            jitter_ns=random.choice([0, MILLISECOND // 2]),
            loss=random.choice([0, 0.1]),
            fair=random.random() < 0.5,
            queue_bytes=random.choice([2000, 20_000]),
            best_effort_queue_messages=5,
        )
        stream = Random(f"{seed}/{number}")
        ring.append(link.SimLink(str(number), model, clock, stream, arrival(number)))
        ring[-1].raise_up()
    for message in range(1000):
        chosen, size = random.choice(ring), random.randrange(1, 2500)
        what, at = random.random(), random.randrange(1000) * MILLISECOND
        if what < 0.5:
            priority, flow = random.choice(list(Priority)), random.choice("abc")
            clock.at(at, chosen.send, message, size, priority, flow)
        elif what < 0.75:
            clock.at(at, chosen.send_best_effort, message, size)
        elif what < 0.95:
            passed = lambda message=message: history.append((clock.now, message))
            clock.at(at, chosen.carry, size, passed)
        elif what < 0.97:
            clock.at(at, chosen.set_bandwidth, random.choice([0, 50_000, 500_000]))
            latency_ns = random.choice([None, 0, 2 * MILLISECOND])
            clock.at(at, chosen.set_path, latency_ns, MILLISECOND // 4, random.choice([None, 0.2]))
        else:
            clock.at(at, chosen.fail)
            clock.at(at + 10 * MILLISECOND, chosen.raise_up)
    clock.run_until(5 * SECOND)
    history.append((clock.events, clock.idle, clock.now))
    history.extend((each.statistics(), each.queue_high_water, each.lost_messages) for each in ring)
    return history


def brokers(seed):
    return run(SimRun(random_scenario(seed), seed, digested=True)).digest


histories = [traffic(seed) for seed in range(20)]
print(json.dumps({
    "files": [module.__file__ for module in (drop_tail, link_queue, link, scheduler)],
    "version": version_line(),
    "lengths": [len(history) for history in histories],
    "links": [hashlib.sha256(repr(history).encode()).hexdigest() for history in histories],
    "brokers": [brokers(seed) for seed in (3, 14, 159)],
}))
"""


def copied_sources(target: Path) -> Path:
    without = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(ROOT / "src" / "penstock", target / "penstock", ignore=without)
    return target


def told_by(tree: Path) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, env=environment, cwd=tree, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert all(Path(file).is_relative_to(tree) for file in told["files"])
    return told


def why_not_compiled() -> str:
    """The missing part of the build environment; empty if it is complete."""
    for module in ("mypyc", "setuptools", "hatchling"):
        if find_spec(module) is None:
            return f"{module} is not installed"
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"there is no C compiler ({compiler})"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "the headers of this Python are not installed"
    return ""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of the interpreted sources."""
    return told_by(copied_sources(tmp_path_factory.mktemp("plain")))


def test_compiled_modules_do_not_divide_integers() -> None:
    """Compiled code converts integers to floats before ``/``.  Above 2**53, where every instant
    lies, this rounds twice; ``//`` is exact.
    """
    for module in runpy.run_path(str(ROOT / "hatch_build.py"))["MODULES"]:
        tree = ast.parse((ROOT / "src" / module).read_text())
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.Div)], module


def test_the_sources_run_without_compilation(plain: dict[str, Any]) -> None:
    assert {Path(file).suffix for file in plain["files"]} == {".py"}
    assert "simulator" not in plain["version"]
    assert min(plain["lengths"]) > 500


@pytest.mark.skipif(bool(why_not_compiled()), reason=why_not_compiled())
def test_compiled_modules_have_the_same_histories(plain: dict[str, Any], tmp_path: Path) -> None:
    tree = copied_sources(tmp_path)
    built = subprocess.run(
        [sys.executable, str(ROOT / "hatch_build.py"), str(tree)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    compiled = told_by(tree)
    assert not [file for file in compiled["files"] if file.endswith(".py")]
    assert "simulator" in compiled["version"]
    for what in ("lengths", "links", "brokers"):
        assert compiled[what] == plain[what], what
