"""``penstock explain``: how a selector is parsed and matched."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from penstock.cli.errors import MISUSED, told_in_one_line
from penstock.content.matching.explain import SelectorExplanation
from penstock.content.matching.explain import explain as explain_selector
from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.parser import parse


def explain(selector: str, /, *, json: bool = False) -> None:
    """Print a selector's canonical form, its index lookups and its unindexed conditions.

    Parameters
    ----------
    selector
        For instance "symbol = 'ACME' AND price > 100".
    json
        Print the explanation as JSON.
    """
    with told_in_one_line(SelectorError, status=MISUSED):
        explanation = explain_selector(parse(selector))
    if json:
        print(msgspec.json.encode(explanation).decode())
    else:
        print("\n".join(_lines(explanation)))


def _lines(explanation: SelectorExplanation) -> Iterator[str]:
    yield f"canonical: {explanation.text}"
    if explanation.matches_everything:
        yield "matches every message, without evaluating it"
    if explanation.matches_nothing:
        yield "matches no message"
    for number, alternative in enumerate(explanation.alternatives, 1):
        if len(explanation.alternatives) > 1:
            yield f"alternative {number} of {len(explanation.alternatives)}:"
        for constraint in alternative.indexed:
            yield f"  indexed by {constraint.lookup.value}: {constraint.accepts}"
        for condition in alternative.unindexed:
            yield f"  evaluated on the rest: {condition}"
