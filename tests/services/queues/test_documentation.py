"""Every key of the queue service's configuration is described, with its default."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from penstock.services.queues.parameters import AliasConfig, QueueConfig, QueueParameters

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "reference" / "broker-config.md"
SECTIONS = {
    QueueConfig: "## `[queues.NAME]`",
    AliasConfig: "## `[aliases.NAME]`",
    QueueParameters: "## `[queue_parameters]`",
}


@pytest.mark.parametrize("kind", SECTIONS)
def test_every_key_is_described_with_its_default(kind: type[msgspec.Struct]) -> None:
    text = DOCUMENTATION.read_text()
    section = text.split(SECTIONS[kind], 1)[1].split("\n## ", 1)[0]
    for field in msgspec.structs.fields(kind):
        assert f"`{field.name}`" in section, f"{field.name} is not described"
        in_table = f"| `{field.name}` | `" in section
        if in_table and isinstance(field.default, bool | int | float | str):
            assert f"| `{field.name}` | `{json.dumps(field.default)}` |" in section
