"""The options of the Spark sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from penstock.spark.source.options import (
    ANSWER_WITHIN_S,
    BadOption,
    OptionReader,
    read_url,
    seconds_of,
    truth,
)

COMMIT_WITHIN_S: Final = 600.0
"""The default deadline of a commit: the pubend's rate limit for publishers applies to it too."""

KNOWN: Final = ("url", "pubend", "timeout", "commitTimeout", "sink", "epoch", "mapAsText")


class SinkOptions(msgspec.Struct, frozen=True):
    """All options (docs/reference/spark.md)."""

    url: str
    pubend: str = ""
    timeout_s: float = ANSWER_WITHIN_S
    commit_timeout_s: float = COMMIT_WITHIN_S
    sink: str = ""
    """For batch queries: the name and the step that identify a write, so that it happens once."""
    epoch: int = 0
    map_as_text: bool = False
    """Whether the values of a map of attributes are meant to be strings."""


def read_sink_options(options: Mapping[str, str], *, overwrite: bool) -> SinkOptions:
    """Parse the options; raises ``BadOption``."""
    if overwrite:
        raise BadOption("a stream cannot be overwritten: use mode('append'), or outputMode append")
    reader = OptionReader(options, KNOWN)
    if reader.has("sink") != reader.has("epoch"):
        raise BadOption("give sink and epoch together: a name, and the number of the step")
    return SinkOptions(
        url=read_url(reader),
        pubend=reader.read("pubend", str, ""),
        timeout_s=reader.read("timeout", seconds_of, ANSWER_WITHIN_S),
        commit_timeout_s=reader.read("commitTimeout", seconds_of, COMMIT_WITHIN_S),
        sink=reader.read("sink", str, ""),
        epoch=reader.read("epoch", int, 0),
        map_as_text=reader.read("mapAsText", truth, False),
    )
