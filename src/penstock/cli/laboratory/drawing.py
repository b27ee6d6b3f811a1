"""Commands that draw figures need matplotlib, which is an extra of the installation."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from penstock.cli.errors import UserError

HINT: Final = "pip install 'penstock[lab]'"


def need_matplotlib(command: str) -> None:
    """Raise ``UserError`` with the install command if matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise UserError(f"penstock {command} draws with matplotlib, which is not installed: {HINT}")
