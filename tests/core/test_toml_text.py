from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.toml_lines import key_lines
from penstock.core.toml_text import WIDTH, toml_text

keys = st.text(min_size=1, max_size=6).filter(lambda text: text.isprintable())
scalars = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(keys, values, max_size=5))
def test_a_text_reads_back_equal(tables: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(tables)) == tables


@given(st.dictionaries(st.from_regex(r"[a-z]{1,3}", fullmatch=True), values, max_size=5))
def test_the_lines_of_any_text_can_be_found(tables: dict[str, Any]) -> None:
    assert set(tables) <= set(key_lines(toml_text(tables)))


def test_the_form_of_a_text() -> None:
    wide = {f"key_{number}": number for number in range(20)}
    text = toml_text(
        {
            "parameters": {"guaranteed": {"law": "paper", "wide": wide}},
            "name": 'a "small" one',
            "duration_s": 1.5,
            "bytes": 200_000,
            "links": [{"between": ["a", "b"], "changes": [{"at_s": 1}]}, {}],
            "curve": [[number, number] for number in range(40)],
            "empty": {},
        }
    )
    assert text.startswith(
        'name = "a \\"small\\" one"\nduration_s = 1.5\nbytes = 200_000\ncurve = [\n    [0, 0],\n'
    )
    assert "\n\n[parameters]\nguaranteed" not in text
    assert '\n\n[parameters.guaranteed]\nlaw = "paper"\n\n[parameters.guaranteed.wide]\n' in text
    assert '\n\n[[links]]\nbetween = ["a", "b"]\nchanges = [{ at_s = 1 }]\n\n[[links]]\n' in text
    assert text.endswith("\n\n[empty]\n")
    assert max(map(len, text.splitlines())) <= WIDTH


@pytest.mark.parametrize("value", [None, b"bytes", object()])
def test_what_toml_cannot_say_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="TOML has no value for"):
        toml_text({"key": value})
