"""The simulator beside simpy and ns.py: packet-hops per second of processor time.

    python -m benchmarks.simulator_peers

One small scenario for all: four sources send packets of 100 bytes, evenly, over two links in a row
of 100 Mbit/s and 1 ms each.  A packet-hop is one packet over one link.  simpy has no links, so they
are implemented here in its usual style; ns.py has its own (ports and wires).  Ours are the
simulator's links alone, and complete brokers (benchmarks.simulator), which do much more for each
message, with batches of 1, 16 and 256 messages.  If the hot modules were compiled (make compiled),
their sources are measured too.

The short runs are repeated and the fastest counts, for all alike: other load on a machine only
makes a run slower.

simpy and ns.py are not dependencies: if one is missing, its install command is printed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from random import Random
from typing import Any, Final

from benchmarks.simulator import BATCHES, hops_per_second
from penstock.core.clock import SECOND
from penstock.core.machine import Priority
from penstock.sim.link import LinkModel, SimLink
from penstock.sim.scheduler import Scheduler
from penstock.version import compiled_parts

SOURCES: Final = 4
PACKETS_PER_S: Final = 2000
SIMULATED_S: Final = 5
PACKET_BYTES: Final = 100
BYTES_PER_S: Final = 12_500_000
DELAY_S: Final = 0.001
EXPECTED: Final = SOURCES * PACKETS_PER_S * SIMULATED_S
HOPS: Final = 2 * EXPECTED

REPEATS: Final = 5

OWN: Final = "--own"
"""Print only our own rates, for the process that compares."""


def _timed(run: Callable[[], int]) -> float:
    """Packet-hops per second of processor time."""
    return HOPS / min(_seconds(run) for _ in range(REPEATS))


def _seconds(run: Callable[[], int]) -> float:
    began = time.process_time()
    arrived = run()
    took = time.process_time() - began
    # A packet that is sent at the very end is in flight when the time is up.
    assert arrived >= EXPECTED - 2 * SOURCES, f"{arrived} of {EXPECTED} packets arrived"
    return took


def ours() -> int:
    """The simulator's links, fed by the scheduler."""
    scheduler = Scheduler(0)
    arrived = 0
    model = LinkModel(bandwidth_bytes_per_s=BYTES_PER_S, latency_ns=round(DELAY_S * SECOND))

    def sink(message: Any) -> None:
        nonlocal arrived
        arrived += 1

    def forward(message: Any) -> None:
        second.send(message, PACKET_BYTES, Priority.DATA)

    first = SimLink("first", model, scheduler, Random(1), forward)
    second = SimLink("second", model, scheduler, Random(2), sink)
    first.raise_up()
    second.raise_up()
    interval = SECOND // PACKETS_PER_S

    def produce(number: int) -> None:
        first.send(number, PACKET_BYTES, Priority.DATA)
        if scheduler.now + interval <= SIMULATED_S * SECOND:
            scheduler.at(scheduler.now + interval, produce, number + 1)

    for source in range(SOURCES):
        scheduler.at(interval + source, produce, 0)
    scheduler.run_until((SIMULATED_S + 1) * SECOND)
    return arrived


def with_simpy() -> int:
    """A link is a store, a process that transmits, and one that delivers after the latency."""
    import simpy

    environment = simpy.Environment()
    first, second = simpy.Store(environment), simpy.Store(environment)
    arrived = 0

    def sink(packet: object) -> None:
        nonlocal arrived
        arrived += 1

    def source(number: int) -> Iterator[Any]:
        for _ in range(PACKETS_PER_S * SIMULATED_S):
            yield environment.timeout(1 / PACKETS_PER_S)
            first.put(number)

    def link(queue: Any, deliver: Callable[[object], object]) -> Iterator[Any]:
        while True:
            packet = yield queue.get()
            yield environment.timeout(PACKET_BYTES / BYTES_PER_S)
            environment.process(late(packet, deliver))

    def late(packet: object, deliver: Callable[[object], object]) -> Iterator[Any]:
        yield environment.timeout(DELAY_S)
        deliver(packet)

    for number in range(SOURCES):
        environment.process(source(number))
    environment.process(link(first, second.put))
    environment.process(link(second, sink))
    environment.run(until=SIMULATED_S + 1)
    return arrived


def with_ns() -> int:
    """Generators, ports, wires and a sink of ns.py."""
    import simpy
    from ns.packet.dist_generator import DistPacketGenerator
    from ns.packet.sink import PacketSink
    from ns.port.port import Port
    from ns.port.wire import Wire

    environment = simpy.Environment()
    ports = [Port(environment, 8 * BYTES_PER_S) for _ in range(2)]
    wires = [Wire(environment, lambda: DELAY_S) for _ in range(2)]
    sink = PacketSink(environment, rec_arrivals=False, rec_waits=False)
    ports[0].out, wires[0].out = wires[0], ports[1]
    ports[1].out, wires[1].out = wires[1], sink
    for number in range(SOURCES):
        generator = DistPacketGenerator(
            environment,
            f"source-{number}",
            lambda: 1 / PACKETS_PER_S,
            lambda: PACKET_BYTES,
            finish=SIMULATED_S,
            flow_id=number,
        )
        generator.out = ports[0]
    environment.run(until=SIMULATED_S + 1)
    return int(sum(sink.packets_received.values()))


def own_rates() -> dict[str, float]:
    """Links alone and complete brokers, in the form in which this process runs them."""
    rates = {"links alone": _timed(ours)}
    for rows, rate in BATCHES:
        rates[f"brokers, batches of {rows}"] = hops_per_second(rows, rate)
    return rates


def _rates_from_sources() -> dict[str, float]:
    """The same for the sources, in a separate process."""
    command = [sys.executable, "-m", "benchmarks.from_sources", __spec__.name, OWN]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    rates: dict[str, float] = json.loads(done.stdout)
    return rates


def main() -> None:
    """Measure, and print rates and ratios."""
    if OWN in sys.argv:
        print(json.dumps(own_rates()))
        return
    if "simulator" in compiled_parts():
        forms = {"Penstock compiled": own_rates(), "Penstock": _rates_from_sources()}
    else:
        forms = {"Penstock": own_rates()}
    rates = {f"{form}, {what}": rate for form, own in forms.items() for what, rate in own.items()}
    for name, module, run in (("simpy", "simpy", with_simpy), ("ns.py", "ns", with_ns)):
        if find_spec(module) is None:
            print(f"{name} is not installed: pip install {name}")
        else:
            rates[name] = _timed(run)
    for name, rate in rates.items():
        ratios = [
            f"{rate / rates[peer]:.1f} of {peer}" for peer in ("simpy", "ns.py") if peer in rates
        ]
        print(f"{name:42} {rate:>12,.0f} packet-hops/s   {', '.join(ratios)}")


if __name__ == "__main__":
    main()
