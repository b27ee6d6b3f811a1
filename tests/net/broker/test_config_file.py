from __future__ import annotations

from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.net.broker.config import (
    Limits,
    NeighbourConfig,
    broker_config,
    load_config,
    parse_config,
)
from penstock.net.broker.config_file import dump_config, write_config

names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,8}", fullmatch=True)


@settings(deadline=None)
@given(
    name=names.map(lambda text: "b" + text),
    data_dir=st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=10),
    pubends=st.integers(0, 9) | st.lists(names, max_size=3, unique=True).map(tuple),
    neighbours=st.dictionaries(
        names.map(lambda text: "n" + text),
        st.builds(
            NeighbourConfig,
            address=st.sampled_from(["", "host:1", "[::1]:2"]),
            cost=st.integers(1, 9),
        ),
        max_size=3,
    ),
    rows=st.integers(1, 10),
    admin=st.booleans(),
)
def test_what_is_written_is_read_back(
    name: str,
    data_dir: str,
    pubends: int | tuple[str, ...],
    neighbours: dict[str, NeighbourConfig],
    rows: int,
    admin: bool,
) -> None:
    config = broker_config(
        name,
        data_dir,
        pubends=pubends,
        neighbours=neighbours,
        limits=Limits(max_batch_rows=rows),
        admin=admin,
    )

    raw = msgspec.toml.decode(dump_config(config))

    assert parse_config(raw) == config


def test_only_what_differs_from_its_default_is_written(tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    config = broker_config("b", "/data", neighbours={"c.d": NeighbourConfig(cost=2)})

    write_config(path, config)

    assert path.read_text() == ('name = "b"\ndata_dir = "/data"\n\n[neighbours."c.d"]\ncost = 2\n')
    assert load_config(path) == config
