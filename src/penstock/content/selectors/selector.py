"""A selector: what a subscription asks for.

It is a condition with its canonical text.  Two selectors that were written differently but have
the same tree are equal and have the same text, so the text serves as a key wherever selectors
travel or are counted.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.content.selectors.expressions import TRUE, Condition
from penstock.content.selectors.printing import condition_text


class Selector(msgspec.Struct, frozen=True, gc=False):
    """A condition and its canonical text; make one with ``parse`` or ``Selector.of``."""

    text: str
    condition: Condition

    @staticmethod
    def of(condition: Condition) -> Selector:
        """The selector of a condition that was built and not parsed."""
        return Selector(condition_text(condition), condition)

    @property
    def matches_everything(self) -> bool:
        """Whether it is written as selecting all rows (the empty selector, or ``TRUE``)."""
        return self.condition == TRUE

    def __str__(self) -> str:
        """The canonical text."""
        return self.text


EVERYTHING: Final = Selector.of(TRUE)
"""What the empty text stands for."""
