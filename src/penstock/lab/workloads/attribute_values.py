"""Attribute values of a modelled workload, as a function of a message's number.

A value is written as a constant, or as a string that specifies how it varies:

1. ``cycle:0..4`` counts 0, 1, 2, 3 and starts again (the end is exclusive).
2. ``choice:A,B,C`` draws one of the words with equal probability.
3. ``uniform:0..100`` draws a float from the range.
4. ``number:`` is the message's own number.
5. ``constant:text`` is the text itself, for texts that would otherwise match one of these forms.

A draw depends only on the seed, the producer, the attribute and the number.  No state is kept, so
the checker of a history can compute the same values again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from xxhash import xxh3_64_intdigest

from penstock.content.rows.columns import AttributeValue

ValueOf: TypeAlias = Callable[[int], AttributeValue]

Number = TypeVar("Number", int, float)

KINDS = ("cycle", "choice", "uniform", "number", "constant")


class InvalidAttributeSpec(ValueError):
    """A string that is no valid specification of an attribute's values."""


def value_function(spec: AttributeValue, stream: str) -> ValueOf:
    """The values of a specification; ``stream`` names the random stream of the draws."""
    if not isinstance(spec, str):
        return lambda number: spec
    kind, colon, rest = spec.partition(":")
    if not colon or kind not in KINDS:
        return lambda number: spec
    match kind:
        case "cycle":
            low, high = _range(spec, rest, int)
            if high <= low:
                raise InvalidAttributeSpec(f"{spec!r} is an empty range: the end is exclusive")
            return lambda number: low + number % (high - low)
        case "choice":
            words = rest.split(",")
            return lambda number: words[_draw(stream, number) % len(words)]
        case "uniform":
            start, end = _range(spec, rest, float)
            return lambda number: start + (end - start) * _draw(stream, number) / 2**64
        case "number":
            return lambda number: number
        case _:
            return lambda number: rest


def _draw(stream: str, number: int) -> int:
    return xxh3_64_intdigest(f"{stream}/{number}".encode())


def _range(spec: str, text: str, number: Callable[[str], Number]) -> tuple[Number, Number]:
    low, dots, high = text.partition("..")
    try:
        if not dots:
            raise ValueError
        return number(low), number(high)
    except ValueError:
        raise InvalidAttributeSpec(
            f"{spec!r} needs a range of numbers such as 0..10 after the colon"
        ) from None
