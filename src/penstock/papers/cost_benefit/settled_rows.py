"""The effect of two constants of the paper's law that the paper does not specify.

1. The time after which a sender that lost a draw draws again.  With 100 ms instead of 40 a few
   dozen senders stay rich, and all spend their savings at once when the price touches zero.
2. The shortest salary period.  With 30 ms instead of 20 a few senders spend less at once; but a
   sender that is alone on a link then yields more to one that crosses it on a long path.

Runs as arrays, only under the paper's law.
"""

from __future__ import annotations

from penstock.papers.cost_benefit.plans import OTHER_LOTTERIES, OTHER_PERIODS
from penstock.papers.cost_benefit.row import SERVICE, Rows, highest, total
from penstock.papers.table import SHOWN, PaperRow, row


def settled_rows(rows: Rows) -> list[PaperRow]:
    """Each constant with the chosen value and with another, where the difference shows."""
    found = []
    for kind, plans in (("lottery", OTHER_LOTTERIES), ("shortest period", OTHER_PERIODS)):
        for (run, constant_ms), plan in plans.items():
            is_chain = run.startswith("3")
            found.append(
                row(
                    SERVICE,
                    f"{run}, {kind} of {constant_ms} ms",
                    "all senders" if is_chain else "highest buffer",
                    "Mbit/s" if is_chain else "packets",
                    paper="–",
                    bar=SHOWN,
                    paper_law=rows.values(plan, total if is_chain else highest),
                    note="as arrays",
                )
            )
    return found
