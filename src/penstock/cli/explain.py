"""``penstock explain``: how a selector is understood and matched."""

from __future__ import annotations

import msgspec

from penstock.cli.errors import MISUSED, told_in_one_line
from penstock.content.explain import explain as explain_selector
from penstock.content.parser import parse
from penstock.content.selector_error import SelectorError


def explain(selector: str, /, *, json: bool = False) -> None:
    """Print a selector's canonical form, the index used, and what is evaluated unindexed.

    Parameters
    ----------
    selector
        For instance "symbol = 'ACME' AND price > 100".
    json
        Print it as JSON.
    """
    with told_in_one_line(SelectorError, status=MISUSED):
        explanation = explain_selector(parse(selector))
    if json:
        print(msgspec.json.encode(explanation).decode())
    else:
        print(explanation)
