"""Random messages that keep to the limits of their types and lie in everything else."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
from msgspec import inspect

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.content.selectors.parser import parse
from penstock.core.limits import FILTER_MARK, INTERVAL_MARK, SELECTOR_MARK

NOW = 1_700_000_000_000_000_000
"""About where the streams of the simulated world are."""

NAMES = ("pb", "sb", "ib", "pb.1", "sb.1", "q1", "q2", "al", "q1@pb", "q1@sb", "al@pb", "n1", "n2")
ODD_NAMES = ("", "x" * 512, "\x00", "a/b@c@d", "*", "@route", "@letters", "@edge", "@relay", "é")
NAMES_OF_SESSIONS = ("client/1", "client/2", "earliest", "time", "now", "dead-letters", "@n1")
SELECTORS = ("", "a = 1", "a > 5 AND b < 2", "a LIKE '%x_'", "a IN ('1', '2')", "a / 0 = 1")
BAD_SELECTORS = ("a =", "NOT " * 60 + "a = 1", "(" * 70, "x" * 60_000, "é" * 9000, "a = 'x")
NUMBERS = (0, 1, 2, 5, 100, 10**6, 2**31, 2**53, NOW, NOW + 10**9, NOW - 10**9, 2**62 - 1)
FLOATS = (0.0, 1.0, 0.5, 1e-300, 1e18, 100.0)


class Liar:
    """Makes messages."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def message(self, kind: type[msgspec.Struct]) -> Any:
        described = inspect.type_info(kind)
        assert isinstance(described, inspect.StructType)
        return kind(**{field.name: self._value(field.type) for field in described.fields})

    def _value(self, described: inspect.Type, mark: str = "") -> Any:
        random = self._random
        match described:
            case inspect.Metadata(type=inner, extra=extra):
                return self._value(inner, next(iter(extra or {}), ""))
            case inspect.BoolType():
                return random.random() < 0.5
            case inspect.NoneType():
                return None
            case inspect.IntType():
                return self._number(described)
            case inspect.FloatType():
                return random.choice(FLOATS)
            case inspect.StrType(max_length=longest):
                return self._text(longest or 10, mark)
            case inspect.BytesType():
                return random.choice((b"", b"{}", b"\xff" * 60))
            case inspect.VarTupleType(item_type=item, min_length=least, max_length=most):
                count = max(least or 0, min(most or 5, random.choice((0, 1, 1, 2, 5))))
                return tuple(self._value(item) for _ in range(count))
            case inspect.TupleType(item_types=items):
                values = tuple(self._value(each) for each in items)
                return tuple(sorted(values)) if mark == INTERVAL_MARK else values
            case inspect.DictType(key_type=key, value_type=value):
                count = random.choice((0, 1, 2, 5))
                return {self._value(key): self._value(value) for _ in range(count)}
            case inspect.UnionType(types=types):
                return self._value(random.choice(types))
            case inspect.StructType(cls=kind):
                return self.message(kind)
            case inspect.CustomType(cls=kind):
                return (
                    self._frame() if kind is Frame else self._batch(random.choice((0, 1, 1, 3, 40)))
                )
        raise TypeError(str(described))

    def _number(self, described: inspect.IntType) -> int:
        most = described.le if described.le is not None else (described.lt or 2**62) - 1
        least = described.ge if described.ge is not None else (described.gt or -1) + 1
        return max(least, min(most, self._random.choice((*NUMBERS, most, least))))

    def _text(self, longest: int, mark: str) -> str:
        random = self._random
        if mark in (SELECTOR_MARK, FILTER_MARK):
            if mark == FILTER_MARK and random.random() < 0.3:
                return "*"
            return parse(random.choice(SELECTORS)).text
        if longest == 1 << 16:
            return random.choice(SELECTORS if random.random() < 0.7 else BAD_SELECTORS)
        pool = NAMES if random.random() < 0.7 else ODD_NAMES + NAMES_OF_SESSIONS
        return random.choice(pool)[:longest]

    def _batch(self, rows: int) -> Batch:
        random = self._random
        values = (1, -1, 2**63 - 1, 1.5, float("nan"), True, "s", "x" * 300, b"by", "")
        return Batch.from_rows(
            [
                (
                    {
                        random.choice("abc"): random.choice(values)
                        for _ in range(random.randint(0, 3))
                    },
                    bytes(random.randint(0, 50)),
                )
                for _ in range(rows)
            ]
        )

    def _frame(self) -> Frame:
        random = self._random
        low = random.choice((0, 1, 5, NOW, NOW + 10**9, 2**62 - 50))
        rows = random.choice((0, 1, 3))
        final = random.random() < 0.2
        if not rows:
            return Frame(low, low + random.choice((0, 1, 40)), final=final)
        ticks = range(low, low + rows)
        return Frame(low, low + rows + random.choice((0, 5)), ticks, self._batch(rows), final=final)
