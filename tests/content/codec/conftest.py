"""Messages of three kinds: a plain one, one with a batch, one with a frame."""

from types import SimpleNamespace

import numpy as np
import pytest

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.message import Message

ROWS = [
    ({"topic": "orders", "price": 9.5, "n": 1, "ok": True, "raw": b"\x00\xff"}, b"payload"),
    ({"topic": "orders", "n": 2}, b""),
]


class Note(Message, frozen=True):
    text: str
    number: int


class Rows(Message, frozen=True):
    producer: str
    batch: Batch


class Stretch(Message, frozen=True):
    frame: Frame


@pytest.fixture(scope="session")
def kinds() -> SimpleNamespace:
    return SimpleNamespace(Note=Note, Rows=Rows, Stretch=Stretch, every=(Note, Rows, Stretch))


@pytest.fixture(scope="session")
def batch() -> Batch:
    return Batch.from_rows(ROWS)


@pytest.fixture(scope="session")
def specimens(batch: Batch) -> dict[str, Message]:
    return {
        "a message without attachments": Note("hello", 7),
        "a batch": Rows("p", batch),
        "a frame of consecutive ticks": Stretch(Frame(10, 20, range(12, 14), batch)),
        "a frame of scattered ticks": Stretch(Frame(10, 20, np.array([11, 15], "<i8"), batch)),
        "silence": Stretch(Frame(10, 20)),
        "a final frame": Stretch(Frame(10, 20, final=True)),
    }
