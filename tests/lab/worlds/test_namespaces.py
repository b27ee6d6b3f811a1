"""Network namespaces: leftovers of a killed run are removed, and traffic can pass through."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from itertools import pairwise

import pytest

from penstock.lab.scenario.model import Broker, Link, Scenario
from penstock.lab.worlds.namespaces import Namespaces, NoNamespaces, check_possible

NO_SUCH_PROCESS = 2**22 + 1
"""Above the largest process number of Linux."""


def test_leftovers_of_a_killed_run_are_removed() -> None:
    try:
        check_possible()
    except NoNamespaces as why:
        pytest.skip(str(why))
    orphan = f"penstock-{NO_SUCH_PROCESS}-pb"
    subprocess.run(["ip", "netns", "add", orphan], check=True)
    check_possible()

    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    assert orphan not in listed.stdout


LISTEN = """
import socket
listener = socket.create_server(("0.0.0.0", 7999))
print("listening", flush=True)
print(listener.accept()[0].recv(100).decode(), flush=True)
"""
SAY = """
import socket
socket.create_connection(("{host}", 7999), timeout=10).sendall(b"hello")
"""


def test_the_ends_of_a_path_reach_each_other_and_the_names_are_released() -> None:
    names = ("one", "two", "three", "four")
    links = tuple(Link(between=pair) for pair in pairwise(names))
    ground = Scenario(
        name="path",
        duration_s=1,
        brokers=tuple(Broker(name=name) for name in names),
        links=links,
    )
    for _ in range(2):
        try:
            layout = Namespaces()
        except NoNamespaces as why:
            pytest.skip(str(why))
        with closing(layout):
            layout.open(ground)
            layout.forward(names)
            host = layout.neighbour_address("three", "four").rpartition(":")[0]
            listen = layout.command("four", (sys.executable, "-c", LISTEN))
            say = layout.command("one", (sys.executable, "-c", SAY.format(host=host)))
            with subprocess.Popen(listen, stdout=subprocess.PIPE, text=True) as listener:
                assert listener.stdout is not None
                assert listener.stdout.readline() == "listening\n"
                subprocess.run(say, check=True)
                assert listener.stdout.readline() == "hello\n"
