"""Named streams: repeatable, and independent of each other."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from penstock.core.randomness import random_stream


def draws(seed: int | str, *names: str) -> list[float]:
    stream = random_stream(seed, *names)
    return [stream.random() for _ in range(8)]


def test_the_same_names_give_the_same_draws() -> None:
    assert draws(7, "broker-1", "nack-jitter") == draws(7, "broker-1", "nack-jitter")


@pytest.mark.parametrize(
    "other",
    [(8, "broker-1", "nack-jitter"), (7, "broker-2", "nack-jitter"), (7, "broker-1", "heartbeat")],
)
def test_another_seed_node_or_purpose_gives_other_draws(other: tuple[int, str, str]) -> None:
    assert draws(7, "broker-1", "nack-jitter") != draws(*other)


def test_drawing_from_one_stream_does_not_shift_another() -> None:
    undisturbed = draws(7, "broker-1", "loss")
    noisy = random_stream(7, "broker-2", "loss")
    stream = random_stream(7, "broker-1", "loss")
    interleaved = []
    for _ in range(8):
        noisy.random()
        interleaved.append(stream.random())
    assert interleaved == undisturbed


def test_a_seed_may_be_text_and_reads_like_the_number() -> None:
    assert draws("7", "node") == draws(7, "node")


@pytest.mark.parametrize("hash_seed", ["0", "1234"])
def test_the_hash_seed_of_the_interpreter_does_not_matter(hash_seed: str) -> None:
    program = (
        "from penstock.core.randomness import random_stream;"
        "print(random_stream(7, 'broker-1', 'nack-jitter').random().hex())"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert float.fromhex(printed.strip()) == draws(7, "broker-1", "nack-jitter")[0]
