"""Histories with crashes and cuts: nothing lost between members that stay, nothing twice."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.randomness import random_stream
from penstock.services.multicast.parameters import MulticastParameters

Overlay = Any
FAULTS = 8


def _history(run: Overlay, diamond: dict[Any, int]) -> None:
    """Cuts of any link and crashes of the relays, none longer than a departure takes."""
    random = random_stream(run.world.seed, "faults")
    run.world.start()
    run.world.run_for(SECOND)
    for _ in range(FAULTS):
        if random.random() < 0.5:
            ends = random.choice(sorted(diamond))
            run.world.cut(*ends)
            run.world.run_for(random.randrange(20 * MILLISECOND, 2 * SECOND))
            run.world.mend(*ends)
        else:
            relay = random.choice(["b", "c"])
            run.world.crash(relay)
            run.world.run_for(random.randrange(20 * MILLISECOND, 2 * SECOND))
            run.world.restart(relay)
        run.world.run_for(random.randrange(10 * MILLISECOND, SECOND))
    run.finish()


@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.parametrize("law", ["paper", "improved"])
def test_cuts_and_crashes_of_relays(
    overlay: type[Overlay], diamond: dict[Any, int], seed: int, law: Any
) -> None:
    run = overlay(seed, diamond, parameters=MulticastParameters(law=law))
    run.member("m-a", "news", "a")
    run.member("m-d", "news", "d")
    run.member("m-e", "news", "e")
    run.sender("s-a", "a", "news", total=150, every_ns=50 * MILLISECOND)
    run.sender("s-e", "e", "news", total=150, every_ns=50 * MILLISECOND)
    _history(run, diamond)
    for member in run.members:
        for sender in run.senders:
            run.judge(member, sender)


@pytest.mark.parametrize("seed", range(1, 5))
def test_the_broker_of_a_sender_crashes(
    overlay: type[Overlay], diamond: dict[Any, int], seed: int
) -> None:
    """The client sends what has no receipt again, and every member takes each number once."""
    run = overlay(seed, diamond)
    run.member("m-d", "news", "d")
    run.member("m-e", "news", "e")
    run.sender("s", "a", "news", total=200, every_ns=20 * MILLISECOND)
    random = random_stream(seed, "crashes")
    run.world.start()
    for _ in range(4):
        run.world.run_for(random.randrange(SECOND // 2, SECOND))
        run.world.crash("a")
        run.world.run_for(random.randrange(10 * MILLISECOND, SECOND // 2))
        run.world.restart("a")
    run.finish()
    run.judge("m-d", "s")
    run.judge("m-e", "s")


def test_the_broker_of_a_member_crashes_and_the_others_go_on(
    overlay: type[Overlay], diamond: dict[Any, int]
) -> None:
    run = overlay(1, diamond)
    run.member("stays", "news", "d")
    run.member("crashes", "news", "e")
    run.sender("s", "a", "news", total=200, every_ns=20 * MILLISECOND)
    run.world.start()
    run.world.run_for(2 * SECOND)
    run.world.crash("e")
    run.world.run_for(SECOND)
    run.world.restart("e")
    run.finish()
    run.judge("stays", "s")
    seen = run.seen["crashes"]["s"]
    assert seen == sorted(set(seen)), "what came again after the restart came once"
    assert seen[-1] == 199


def test_the_same_seed_gives_the_same_history(
    overlay: type[Overlay], diamond: dict[Any, int]
) -> None:
    digests = []
    for _ in range(2):
        run = overlay(5, diamond)
        run.member("m-e", "news", "e")
        run.sender("s-a", "a", "news", total=50)
        _history(run, diamond)
        digests.append(run.world.digest)
    assert digests[0] == digests[1]
