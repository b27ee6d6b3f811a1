"""The cost of an alias queue under saturation: experiments 1 to 4 of the paper, alone.

    python -m benchmarks.alias_overhead [--messages N] [--rounds N] [--servers 1|2|both]

Each round sends the same messages directly and through an alias queue, in alternating order, with
the same clients, batches and durability (``papers/store_and_forward/live``).  Beside the rates it
prints the brokers' processor time per message, which other load on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from penstock.papers.store_and_forward.cluster import reception_time_s
from penstock.papers.store_and_forward.live import GIVE_UP_S, Saturated, saturated_sites

from benchmarks.harness.usage import cpu_s, family

MICROSECONDS: Final = 1e6


def _brokers() -> list[int]:
    """The processes of the brokers, which run as long as the experiment."""
    return [
        process
        for process in family(os.getpid())[1:]
        if b"penstock.net" in Path(f"/proc/{process}/cmdline").read_bytes()
    ]


@contextmanager
def _spent_s(spent: list[float]) -> Iterator[None]:
    brokers = _brokers()
    before = sum(cpu_s(each) for each in brokers)
    yield
    spent.append(sum(cpu_s(each) for each in brokers) - before)


def measure(layouts: tuple[int, ...], messages: int, rounds: int) -> None:
    """Run the rounds, and print the medians."""
    with (
        TemporaryDirectory(prefix="penstock-alias-") as name,
        saturated_sites(Path(name), messages, layouts) as pairs,
    ):
        rates: dict[str, list[float]] = {}
        costs: dict[str, list[float]] = {}
        order: list[Saturated] = [each for pair in pairs for each in pair]
        for _ in range(rounds):
            for each in order:
                spent: list[float] = []
                with _spent_s(spent):
                    taken_s = reception_time_s([each.producer], [each.consumer], GIVE_UP_S)
                rates.setdefault(each.name, []).append(messages / taken_s)
                costs.setdefault(each.name, []).append(spent[0] / messages * MICROSECONDS)
            order.reverse()
    for direct, alias in pairs:
        for each in (direct, alias):
            shown = ", ".join(f"{rate:,.0f}" for rate in rates[each.name])
            print(
                f"{each.name}: {median(rates[each.name]):,.0f} messages/s ({shown}); "
                f"brokers {median(costs[each.name]):.2f} us a message"
            )
        ratios = [
            100 * (1 - mine / theirs)
            for mine, theirs in zip(rates[alias.name], rates[direct.name], strict=True)
        ]
        of_medians = 100 * (1 - median(rates[alias.name]) / median(rates[direct.name]))
        print(
            f"  lost: {median(ratios):.1f} % (median of rounds; of the medians {of_medians:.1f} %)"
        )


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--servers", choices=("1", "2", "both"), default="both")
    arguments = parser.parse_args()
    layouts = (1, 2) if arguments.servers == "both" else (int(arguments.servers),)
    measure(layouts, arguments.messages, arguments.rounds)


if __name__ == "__main__":
    main()
