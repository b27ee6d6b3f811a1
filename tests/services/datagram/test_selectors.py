"""Selectors are parsed once and bounded by what a report can carry."""

from __future__ import annotations

import pytest

from penstock.content.bloom.encoding import encode_message
from penstock.content.selectors.error import SelectorError
from penstock.services.datagram.selectors import MAX_SELECTOR_BYTES, read_selector


def test_a_selector_comes_with_its_encoding() -> None:
    read = read_selector("kind = 'a'")
    assert read.selector.text == "kind = 'a'"
    assert read.encoding.matches(encode_message({"kind": "a"}))
    assert not read.encoding.matches(encode_message({"kind": "b"}))


def test_the_same_text_is_parsed_once() -> None:
    assert read_selector("kind = 'again'") is read_selector("kind = 'again'")


def test_a_selector_that_fits_no_report_is_refused_with_the_limit() -> None:
    longest = "kind = '" + "x" * (MAX_SELECTOR_BYTES - 9) + "'"
    assert read_selector(longest).selector.text == longest
    with pytest.raises(SelectorError, match=f"at most {MAX_SELECTOR_BYTES}"):
        read_selector("a" + longest)
