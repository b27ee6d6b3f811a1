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
)

COMMIT_WITHIN_S: Final = 600.0
"""How long a commit may take unless told otherwise: the rate that the pubend allows its publishers
holds for it too."""

KNOWN: Final = ("url", "pubend", "timeout", "committimeout", "checkpointlocation", "sink", "epoch")


class SinkOptions(msgspec.Struct, frozen=True):
    """Everything that can be set (docs/reference/spark.md)."""

    url: str
    pubend: str = ""
    timeout_s: float = ANSWER_WITHIN_S
    commit_timeout_s: float = COMMIT_WITHIN_S
    sink: str = ""
    """For batch queries: the name and the step under which the write happens once."""
    epoch: int = 0


def read_sink_options(options: Mapping[str, str], *, overwrite: bool) -> SinkOptions:
    """Understand the options; raises ``BadOption``."""
    if overwrite:
        raise BadOption("a stream cannot be overwritten: use mode('append'), or outputMode append")
    reader = OptionReader(options, KNOWN)
    if reader.has("sink") != reader.has("epoch"):
        raise BadOption("sink and epoch belong together: a name, and the number of the step")
    return SinkOptions(
        url=read_url(reader),
        pubend=reader.read("pubend", str, ""),
        timeout_s=reader.read("timeout", seconds_of, ANSWER_WITHIN_S),
        commit_timeout_s=reader.read("commitTimeout", seconds_of, COMMIT_WITHIN_S),
        sink=reader.read("sink", str, ""),
        epoch=reader.read("epoch", int, 0),
    )
