"""The speed of selector matching: ``python -m benchmarks.matching``.

Selectors of one to three constraints over eight attributes, in two workloads, because the number
of matches dominates the cost:

- *broad*: constraints on any attributes; a message matches one selector in ten, so a search for any
  selector may stop early;
- *narrow*: each selector names one of 5,832 symbols; a message matches hardly any, and all must be
  ruled out.

"any" answers which rows are sent over a link, "pairs" which subscriber gets which rows.  Each is
compared with the plain evaluator: for "any" it stops at the first selector that matches, for
"pairs" it tries them all.  Rates are messages per second of processor time, because the cores may
be shared; a batch of 512 counts as 512.  There are more batches than the index caches outcomes.

Goals, at batches of 512: 1,000 selectors at 2 M messages/s, 10,000 at 300 k, and at 1,000 fifty
times the plain evaluator, for "any" in both workloads.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from random import Random
from typing import Any

from penstock.content.matching.index import KEPT_OUTCOMES, SelectorIndex
from penstock.content.rows.batch import Batch
from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import selects
from penstock.content.selectors.selector import Selector

BATCH_ROWS = 512
DIFFERENT_BATCHES = KEPT_OUTCOMES + 4
ROUNDS = 5
SECONDS_A_ROUND = 0.1
PLAIN_ROWS = 16
"""Enough for the plain evaluator, which takes milliseconds per row."""

GOALS_PER_S = {1_000: 2_000_000, 10_000: 300_000}
GOAL_RATIO = 50
SHAPES = ((1, 512), (100, 512), (1_000, 1), (1_000, 512), (10_000, 1), (10_000, 512))

TOPICS = [f"market/{name}" for name in ("bonds", "energy", "equities", "forex", "metals")]
LETTERS = "ABCDEFGHIJKLMNOPQR"
SYMBOLS = [f"{a}{b}{c}" for a in LETTERS for b in LETTERS for c in LETTERS]
REGIONS = ["africa", "america", "asia", "europe", "oceania"]
ATTRIBUTES = ("topic", "symbol", "region", "urgent", "price", "change", "quantity", "priority")

Figures = dict[str, Any]


def constraint(random: Random, attribute: str) -> str:
    """A condition on one attribute of the kind that subscriptions have."""
    match attribute:
        case "topic":
            return f"topic = '{random.choice(TOPICS)}'"
        case "symbol":
            if random.random() < 0.2:
                return f"symbol LIKE '{random.choice(SYMBOLS)[:2]}%'"
            return f"symbol = '{random.choice(SYMBOLS)}'"
        case "region":
            return "region IN ({})".format(", ".join(f"'{r}'" for r in random.sample(REGIONS, 2)))
        case "urgent":
            return f"urgent = {random.choice(('TRUE', 'FALSE'))}"
        case "price":
            low = round(random.uniform(0, 900), 2)
            return f"price BETWEEN {low} AND {low + 50}"
        case "change":
            return f"change {random.choice('<>')} {round(random.gauss(0, 2), 3)}"
        case "quantity":
            return f"quantity >= {random.randrange(0, 10_000)}"
        case _:
            return f"priority = {random.randrange(10)}"


def broad_selector(random: Random) -> Selector:
    """One to three constraints on different attributes."""
    names = random.sample(ATTRIBUTES, random.randint(1, 3))
    return parse(" AND ".join(constraint(random, name) for name in names))


def narrow_selector(random: Random) -> Selector:
    """A symbol and at most two more constraints."""
    others = [name for name in ATTRIBUTES if name != "symbol"]
    parts = [f"symbol = '{random.choice(SYMBOLS)}'"]
    parts += [constraint(random, name) for name in random.sample(others, random.randint(0, 2))]
    return parse(" AND ".join(parts))


WORKLOADS = {"broad": broad_selector, "narrow": narrow_selector}


def message(random: Random) -> dict[str, str | int | float | bool]:
    """A message that has all eight attributes."""
    return {
        "topic": random.choice(TOPICS),
        "symbol": random.choice(SYMBOLS),
        "region": random.choice(REGIONS),
        "urgent": random.random() < 0.1,
        "price": round(random.uniform(0, 1000), 2),
        "change": round(random.gauss(0, 2), 3),
        "quantity": random.randrange(10_000),
        "priority": random.randrange(10),
    }


def batches(random: Random, rows: int, count: int) -> list[Batch]:
    """Different batches of one size."""
    return [Batch.from_rows([(message(random), b"") for _ in range(rows)]) for _ in range(count)]


def rate(work: Callable[[Batch], object], inputs: list[Batch]) -> float:
    """Messages per second in the best of several rounds, after a warm-up round.

    The best round is the one that other programs on the machine disturbed least.
    """
    for batch in inputs:
        work(batch)
    best = 0.0
    for _ in range(ROUNDS):
        done = 0
        start = time.process_time()
        while (elapsed := time.process_time() - start) < SECONDS_A_ROUND:
            for batch in inputs:
                work(batch)
                done += len(batch)
        best = max(best, done / elapsed)
    return best


def plain_figures(selectors: list[Selector], batch: Batch) -> Figures:
    """The plain evaluator's rates for both questions."""
    any_rate = rate(
        lambda b: [any(selects(s, row) for s in selectors) for row in b.attribute_rows()], [batch]
    )
    pairs_rate = rate(
        lambda b: [[s for s in selectors if selects(s, row)] for row in b.attribute_rows()], [batch]
    )
    return {"plain_any_per_s": any_rate, "plain_pairs_per_s": pairs_rate}


def measure(workload: str, count: int, rows: int) -> Figures:
    """All figures for one number of selectors at one batch size."""
    random = Random(f"matching/{workload}/{count}/{rows}")
    selectors = [WORKLOADS[workload](random) for _ in range(count)]
    inputs = batches(random, rows, DIFFERENT_BATCHES)
    start = time.process_time()
    index = SelectorIndex(enumerate(selectors))
    index.match_any(inputs[0])
    built = time.process_time() - start
    pairs = sum(len(found) for batch in inputs for _, found in index.match(batch))
    figures: Figures = {
        "workload": workload,
        "selectors": count,
        "rows": rows,
        "matches_per_message": pairs / (rows * len(inputs)),
        "build_s": built,
        "any_per_s": rate(index.match_any, inputs),
        "pairs_per_s": rate(index.match, inputs),
    }
    if count <= 1_000 and rows == BATCH_ROWS:
        figures |= plain_figures(selectors, batches(random, PLAIN_ROWS, 1)[0])
    return figures


def verdicts(figures: Figures) -> list[str]:
    """Compare the figures with the goals that apply to them."""
    said = []
    goal = GOALS_PER_S.get(figures["selectors"])
    if goal is None or figures["rows"] != BATCH_ROWS:
        return said
    met = figures["any_per_s"] >= goal
    said.append(f"any at {goal:,}/s: {'met' if met else 'MISSED'}")
    if "plain_any_per_s" in figures:
        ratio = figures["any_per_s"] / figures["plain_any_per_s"]
        said.append(f"any {ratio:,.0f}x plain: {'met' if ratio >= GOAL_RATIO else 'MISSED'}")
        said.append(f"pairs {figures['pairs_per_s'] / figures['plain_pairs_per_s']:,.0f}x plain")
    return said


def main() -> None:
    """Measure and print a table, or JSON lines."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--json", action="store_true", help="one JSON object a line")
    options = arguments.parse_args()
    if not options.json:
        print("workload selectors rows  matches/msg       any/s     pairs/s  build s")
    for workload in WORKLOADS:
        for count, rows in SHAPES:
            figures = measure(workload, count, rows)
            if options.json:
                print(json.dumps(figures))
                continue
            print(
                f"{workload:<8} {count:>9,} {rows:>4} {figures['matches_per_message']:>12.2f} "
                f"{figures['any_per_s']:>11,.0f} {figures['pairs_per_s']:>11,.0f} "
                f"{figures['build_s']:>8.2f}  {'; '.join(verdicts(figures))}"
            )


if __name__ == "__main__":
    main()
