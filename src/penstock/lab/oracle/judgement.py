"""What a judge found: how often each rule of a service was broken, with a few examples in words."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

MAX_EXAMPLES = 10
"""How many violations are described in words; all are counted."""


class Judgement(msgspec.Struct):
    """The number of violations of each rule, and of excused events that are worth knowing."""

    broken: dict[str, int] = {}
    """By rule; a rule that was kept has a count of 0."""
    noted: dict[str, int] = {}
    """Events that break no rule, such as losses that were announced."""
    examples: list[str] = []

    @property
    def violations(self) -> int:
        """Violations of all rules."""
        return sum(self.broken.values())

    def __getitem__(self, name: str) -> int:
        """How often a rule was broken, or an excused event happened."""
        return self.broken[name] if name in self.broken else self.noted[name]

    def count(self, rule: str, example: str, times: int = 1) -> None:
        """A rule was broken; the first few violations are kept in words."""
        self.broken[rule] += times
        self.tell(example)

    def note(self, what: str, times: int = 1) -> None:
        """An excused event happened."""
        self.noted[what] += times

    def tell(self, what: str) -> None:
        """Keep an example, unless there are enough already."""
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(what)


def judgement_of(rules: Iterable[str], noted: Iterable[str] = ()) -> Judgement:
    """A judgement in which no rule was broken so far."""
    return Judgement(dict.fromkeys(rules, 0), dict.fromkeys(noted, 0), [])


def merged(judgements: Iterable[Judgement]) -> Judgement:
    """The judgements of several services together."""
    whole = Judgement({}, {}, [])
    for each in judgements:
        for rule, count in each.broken.items():
            whole.broken[rule] = whole.broken.get(rule, 0) + count
        for what, count in each.noted.items():
            whole.noted[what] = whole.noted.get(what, 0) + count
        for example in each.examples:
            whole.tell(example)
    return whole
