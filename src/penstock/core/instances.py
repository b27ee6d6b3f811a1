"""Which of several publishers that use one name has it at present.

A table of numbered producers recognises repeats by name and number.  Two live publishers of one
name (a rolling restart makes them) would give the same numbers to different messages, and the later
ones would be taken for repeats: acknowledged, and not stored.  So a name belongs to one at a time.

1. A publisher chooses a number at random when it is made: its instance.
2. A publisher that opens for the first time takes the name over, whoever had it.
3. One that opens again after a disconnection gets the name back only if nobody took it meanwhile,
   or if nobody is known to have had it.
4. The table is bounded.  Names of which numbers are stored are kept as long as those numbers: if
   both are forgotten, nothing can be taken for a repeat.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping


class Instances:
    """The instance that has each name."""

    def __init__(self, spare: int, kept: Collection[str]) -> None:
        """Remember the names in ``kept``, and at most ``spare`` others."""
        self._spare = spare
        self._kept = kept
        self._by_name: dict[str, int] = {}

    def take(self, name: str, instance: int, *, resumes: bool) -> bool:
        """A publisher opens; False if another one has its name now."""
        if resumes and self._by_name.get(name, instance) != instance:
            return False
        self.note(name, instance)
        return True

    def note(self, name: str, instance: int) -> None:
        """This instance has the name."""
        self._by_name.pop(name, None)
        self._by_name[name] = instance
        if len(self._by_name) > self._spare + len(self._kept):
            self._forget_one()

    def _forget_one(self) -> None:
        """Forget the name that was silent for longest and of which nothing is stored."""
        for _ in range(len(self._by_name)):
            oldest = next(iter(self._by_name))
            instance = self._by_name.pop(oldest)
            if oldest not in self._kept:
                return
            self._by_name[oldest] = instance

    def has(self, name: str, instance: int) -> bool:
        """Whether a publisher may use its name: nobody else has it."""
        return self._by_name.get(name, instance) == instance

    def of(self, name: str) -> int:
        """The instance that has a name; 0 if none is known."""
        return self._by_name.get(name, 0)

    def dump(self) -> dict[str, int]:
        """The table as plain values."""
        return dict(self._by_name)

    def load(self, saved: Mapping[str, int]) -> None:
        """Replace the table."""
        self._by_name = dict(saved)
