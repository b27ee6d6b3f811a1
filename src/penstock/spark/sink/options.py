"""The options of the Spark sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from penstock.client.addresses import parse_addresses
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

KNOWN: Final = (
    "url",
    "pubend",
    "timeout",
    "commitTimeout",
    "sink",
    "epoch",
    "mapAsText",
    "adoptCheckpoint",
)


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
    adopt_checkpoint: bool = False
    """Whether to publish for a checkpoint whose earlier batches this broker does not know."""


def read_sink_options(options: Mapping[str, str], *, overwrite: bool) -> SinkOptions:
    """Parse the options; raises ``BadOption``."""
    if overwrite:
        raise BadOption("a stream cannot be overwritten: use mode('append'), or outputMode append")
    reader = OptionReader(options, KNOWN)
    if reader.has("sink") != reader.has("epoch"):
        raise BadOption("give sink and epoch together: a name, and the number of the step")
    url, pubend = read_url(reader), reader.read("pubend", str, "")
    if not pubend and len(parse_addresses(url)) > 1:
        raise BadOption(
            "url names several brokers, and each would choose a pubend of its own, so that a "
            "repeated batch could be published twice: give .option('pubend', …)"
        )
    return SinkOptions(
        url=url,
        pubend=pubend,
        timeout_s=reader.read("timeout", seconds_of, ANSWER_WITHIN_S),
        commit_timeout_s=reader.read("commitTimeout", seconds_of, COMMIT_WITHIN_S),
        sink=reader.read("sink", str, ""),
        epoch=reader.read("epoch", int, 0),
        map_as_text=reader.read("mapAsText", truth, False),
        adopt_checkpoint=reader.read("adoptCheckpoint", truth, False),
    )
