"""Attribute values of a modelled workload, as a function of a message's number.

A value is written as a constant, or as a string that specifies how it varies:

1. ``cycle:0..4`` counts 0, 1, 2, 3 and starts again (the end is exclusive).
2. ``choice:A,B,C`` draws one of the words with equal probability.
3. ``uniform:0..100`` draws a float from the range.
4. ``share:0.2,A,B`` draws A for this share of the messages, and B for the others.
5. ``zipf:500,0.8`` draws one of the numbers 0 to 499; the frequency of the n-th of them is in
   proportion to 1 / n^0.8.
6. ``number:`` is the message's own number.
7. ``constant:text`` is the text itself, for texts that would otherwise match one of these forms.

A draw depends only on the seed, the producer, the attribute and the number.  No state is kept, so
the checker of a history can compute the same values again.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from itertools import accumulate
from typing import TypeAlias, TypeVar

from xxhash import xxh3_64_intdigest

from penstock.content.rows.columns import AttributeValue

ValueOf: TypeAlias = Callable[[int], AttributeValue]

Number = TypeVar("Number", int, float)

KINDS = ("cycle", "choice", "uniform", "share", "zipf", "number", "constant")


class InvalidAttributeSpec(ValueError):
    """A string that is no valid specification of an attribute's values."""


class Popularity:
    """Numbers from 0 on, drawn as often as Zipf's law says."""

    def __init__(self, values: int, exponent: float) -> None:
        """Of ``values`` numbers the n-th is as popular as 1 / n^exponent."""
        weights = [rank**-exponent for rank in range(1, values + 1)]
        whole = sum(weights)
        self._cumulated = [part / whole for part in accumulate(weights)]

    def at(self, part: float) -> int:
        """The number for a random part of 1."""
        return min(len(self._cumulated) - 1, bisect(self._cumulated, part))


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
        case "share":
            share, word, other = _share(spec, rest)
            return lambda number: word if _part(stream, number) < share else other
        case "zipf":
            popularity = _popularity(spec, rest)
            return lambda number: popularity.at(_part(stream, number))
        case "number":
            return lambda number: number
        case _:
            return lambda number: rest


def _draw(stream: str, number: int) -> int:
    return xxh3_64_intdigest(f"{stream}/{number}".encode())


def _part(stream: str, number: int) -> float:
    """A random part of 1."""
    return _draw(stream, number) / 2**64


def _share(spec: str, text: str) -> tuple[float, str, str]:
    try:
        share, word, other = text.split(",")
        if not 0 <= float(share) <= 1:
            raise ValueError
    except ValueError:
        raise InvalidAttributeSpec(
            f"{spec!r} needs a share from 0 to 1 and two words, such as share:0.2,A,B"
        ) from None
    return float(share), word, other


def _popularity(spec: str, text: str) -> Popularity:
    values, _, exponent = text.partition(",")
    try:
        if int(values) < 1:
            raise ValueError
        return Popularity(int(values), float(exponent))
    except ValueError:
        raise InvalidAttributeSpec(
            f"{spec!r} needs a count of numbers and an exponent, such as zipf:500,0.8"
        ) from None


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
