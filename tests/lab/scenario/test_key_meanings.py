from __future__ import annotations

import msgspec

from penstock.lab.scenario.key_meanings import key_meanings
from penstock.lab.scenario.model import Link


class Plain(msgspec.Struct, frozen=True):
    """A table."""

    without: int = 0
    name: str = ""
    """What it is
    ``called``."""


class Extended(Plain, frozen=True):
    name: str = "x"
    """Another meaning."""
    size: int = 0
    """In bytes."""

    @property
    def half(self) -> int:
        """Half the size."""
        return self.size // 2


def test_a_meaning_is_the_docstring_of_the_field() -> None:
    assert key_meanings(Plain) == {"name": "What it is `called`."}


def test_a_struct_has_the_meanings_of_those_it_extends() -> None:
    assert key_meanings(Extended) == {"name": "Another meaning.", "size": "In bytes."}


def test_the_tables_of_a_scenario_have_meanings() -> None:
    assert key_meanings(Link)["bandwidth_bytes_per_s"] == "In each direction; 0 means unlimited."
