"""The cost of an alias queue under saturation: experiments 1 to 4 of the paper, alone.

    python -m benchmarks.alias_overhead [--messages N] [--rounds N] [--servers 1|2|both]

Each round sends the same messages directly and through an alias queue, in alternating order, with
the same clients, batches and durability (``papers/store_and_forward/saturation``).  Beside the
rates it prints the brokers' processor time per message, which other load on the machine disturbs
less.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.harness.usage import cpu_s, family
from penstock.papers.store_and_forward.saturation import LOST, brokers, rate_msgs_per_s

MICROSECONDS: Final = 1e6


def _brokers() -> list[int]:
    """The processes of the brokers, which run as long as the experiment."""
    return [
        process
        for process in family(os.getpid())[1:]
        if b"traced_broker" in Path(f"/proc/{process}/cmdline").read_bytes()
    ]


@contextmanager
def _spent_s(spent: list[float]) -> Iterator[None]:
    brokers = _brokers()
    before = sum(cpu_s(each) for each in brokers)
    yield
    spent.append(sum(cpu_s(each) for each in brokers) - before)


def measure(layouts: tuple[str, ...], messages: int, rounds: int) -> None:
    """Run the rounds, and print the medians."""
    pairs = [LOST[each] for each in layouts]
    order = [each for pair in pairs for each in pair]
    rates: dict[str, list[float]] = {each.name: [] for each in order}
    costs: dict[str, list[float]] = {each.name: [] for each in order}
    with ExitStack() as running:
        urls = {
            name: running.enter_context(brokers(name))
            for name in dict.fromkeys(each.scenario for each in order)
        }
        for _ in range(rounds):
            for each in order:
                spent: list[float] = []
                with _spent_s(spent):
                    rate = rate_msgs_per_s(each, urls[each.scenario], messages)
                rates[each.name].append(rate)
                costs[each.name].append(spent[0] / messages * MICROSECONDS)
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
    both = tuple(LOST)
    layouts = {"1": both[:1], "2": both[1:], "both": both}[arguments.servers]
    measure(layouts, arguments.messages, arguments.rounds)


if __name__ == "__main__":
    main()
