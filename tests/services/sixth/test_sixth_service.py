"""A sixth service takes one folder and one line of the registry, and nothing else.

The service is written into a temporary package, registered, and driven from a client through two
brokers, in the simulator and as brokers on sockets.  Each world runs in a process of its own: the
vocabulary of the wire is computed once for each process, from the registry.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PACKAGE = HERE / "relayed_greeting"
REGISTRY_LINE = 'registry.SERVICES.append("relayed_greeting")'


def run(program: str, tmp_path: Path) -> str:
    """Run a program in a process in which the service is registered."""
    package = tmp_path / "relayed_greeting"
    package.mkdir()
    for source in sorted(PACKAGE.glob("*.txt")):
        (package / source.with_suffix(".py").name).write_text(source.read_text())
    (package / "__init__.py").write_text('"""A toy service."""\n')
    text = f"from penstock.services import registry\n{REGISTRY_LINE}\n{program}"
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


SIMULATED = """
from penstock.overlay.node import node_config
from penstock.sim.link_model import LinkModel
from penstock.sim.world import SimWorld
from penstock.core.clock import SECOND
from penstock.core.machine import LinkUp, Received, Send
from relayed_greeting.messages import Greet, Greeted
from relayed_greeting.settings import GreetingSettings

class Greeter:
    heard = None
    def handle(self, fact, *, now):
        if isinstance(fact, LinkUp):
            return [Send("broker", Greet("Ada", "far", request=1))]
        if isinstance(fact, Received):
            self.heard = fact.message
        return []
    def next_deadline(self):
        return None

world = SimWorld(1, checked=True)
world.add_broker(node_config("near", {"far": 1}, greeting="Hello"))
world.add_broker(node_config("far", {"near": 1}, greeting="Good day"))
world.add_link("near", "far", LinkModel())
world.start()
world.run_for(3 * SECOND)
greeter = Greeter()
world.add_client("greeter", greeter, "near")
world.run_for(SECOND)
assert greeter.heard == Greeted("Good day, Ada", request=1), greeter.heard
print(greeter.heard.text)
"""

NETWORKED = """
import asyncio, tempfile
import penstock
from penstock.net.broker.config import NeighbourConfig, parse_config
from penstock.net.broker.server import BrokerServer

async def until_routed(greetings):
    async with asyncio.timeout(60):
        while True:
            try:
                return await greetings.greet("Ada", "far")
            except penstock.PenstockError:
                # The link between the brokers is not up yet.
                await asyncio.sleep(0.05)

async def main():
    directory = tempfile.mkdtemp()
    far = BrokerServer(parse_config({
        "name": "far", "data_dir": directory + "/far", "listen": "127.0.0.1:0",
        "greeting": "Good day", "neighbours": {"near": {}},
    }))
    await far.start()
    near = BrokerServer(parse_config({
        "name": "near", "data_dir": directory + "/near", "listen": "127.0.0.1:0",
        "neighbours": {"far": {"address": str(far.address)}},
    }))
    await near.start()
    async with penstock.connect(f"penstock://{near.address}") as client:
        greetings = client.service("relayed_greeting")
        print(await until_routed(greetings))
        print((await client.status())["services"]["relayed_greeting"]["greeted"])
        why = await client.why("Ada")
        print(why["service"], why["name"])
    await near.stop()
    await far.stop()

asyncio.run(main())
"""


def test_a_sixth_service_runs_in_the_simulator(tmp_path: Path) -> None:
    assert run(SIMULATED, tmp_path) == "Good day, Ada\n"


def test_a_sixth_service_runs_on_sockets(tmp_path: Path) -> None:
    assert run(NETWORKED, tmp_path).splitlines() == ["Good day, Ada", "1", "relayed_greeting Ada"]


def test_its_keys_are_checked_like_all_others(tmp_path: Path) -> None:
    program = """
from penstock.net.broker.config import ConfigError
from penstock.net.broker.config import parse_config
try:
    parse_config({"name": "b", "data_dir": "d", "greting": "Hi"})
except ConfigError as error:
    print(error)
"""
    assert "did you mean" in run(program, tmp_path)


def test_the_price_of_a_service_and_of_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(each.stem for each in PACKAGE.glob("*.txt"))
    naming = [each for each in PACKAGE.glob("*.txt") if re.search(r"\bGreet\b", each.read_text())]
    named = sorted(each.stem for each in naming)
    with capsys.disabled():
        print(f"\na service: 1 folder ({', '.join(files)}) and 1 line of services/registry.py")
        print(f"a message: {len(named)} files ({', '.join(named)})")
    assert len(named) <= 3
