"""Selectors as they travel: parsed once, with their encodings, and bounded.

The same few selectors come in every report and at every hop, so what was read is kept.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from zlib import crc32

import msgspec

from penstock.content.bloom.encoding import FilterEncoding, encode_boxes, encode_filter
from penstock.content.matching.normal_form import Boxes, normal_form_anew
from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.parser import parse, parse_anew
from penstock.content.selectors.selector import Selector

MAX_SELECTOR_BYTES: Final = 512
"""A report must carry the selector in one datagram, with room for others."""

KEPT_SELECTORS: Final = 4096
"""Bound on what is kept."""


class ReadSelector(msgspec.Struct, frozen=True):
    """A selector and its encoding."""

    selector: Selector
    encoding: FilterEncoding
    hash: int
    """By which receivers of the same selector know each other's flow."""


def hash_of(selector: Selector) -> int:
    """The CRC-32 of the text: the same in every process, unlike Python's hash."""
    return crc32(selector.text.encode())


@lru_cache(maxsize=KEPT_SELECTORS)
def read_selector(text: str) -> ReadSelector:
    """Parse a selector; raises ``SelectorError``, which says what is wrong with it."""
    _check_size(text)
    selector = parse(text)
    return ReadSelector(selector, encode_filter(selector), hash_of(selector))


def read_anew(text: str) -> tuple[ReadSelector, Boxes]:
    """The same with the normal form, and nothing of it is kept: for texts that do not come again,
    as the caller has what it needs of them."""
    _check_size(text)
    selector = parse_anew(text)
    boxes = normal_form_anew(selector)
    return ReadSelector(selector, encode_boxes(boxes), hash_of(selector)), boxes


def _check_size(text: str) -> None:
    if len(text.encode()) > MAX_SELECTOR_BYTES:
        raise SelectorError(
            f"a selector of {len(text.encode())} bytes; the datagram service carries selectors in "
            f"datagrams and takes at most {MAX_SELECTOR_BYTES}: make it simpler, or subscribe twice"
        )
