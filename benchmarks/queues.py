"""Durable send-to-acknowledge throughput of a work queue, beside RabbitMQ's quorum queue.

    python -m benchmarks.queues [--messages N] [--rounds N]

One producer process and one consumer process for each; 1 kB messages; every message is on stable
storage before the producer is told, and every acknowledgement before it counts.  Our side is the
ordinary API, one call for each message; RabbitMQ is driven by a raw client from pre-encoded frames
(benchmarks/amqp_peer.py), its best case.  The rounds alternate, so both meet the same machine: the
ratio is the result.  RabbitMQ is started here, on loopback and with a directory of its own, if it
is installed; otherwise its line says that it is missing.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import uvloop

import penstock
from benchmarks.amqp_peer import AmqpConnection
from penstock.net.config import BrokerConfig
from penstock.net.config_file import write_config
from penstock.net.process import BrokerProcess, free_port
from penstock.queues.parameters import AliasConfig, QueueConfig

PAYLOAD = bytes(1000)
RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
PREFETCH = 16_384


def _send(url: str, queue: str, count: int, times: multiprocessing.Queue[float]) -> None:
    async def work() -> None:
        async with penstock.connect(url) as client:
            sender = client.queues.sender(queue)
            await sender.open()
            times.put(time.time())
            for number in range(count):
                await sender.send({"n": number}, PAYLOAD)
            await sender.flush()

    uvloop.run(work())


def _receive(url: str, queue: str, count: int, times: multiprocessing.Queue[float]) -> None:
    async def work() -> None:
        async with (
            penstock.connect(url) as client,
            client.queues.receive(queue, prefetch=PREFETCH) as receiver,
        ):
            left = count
            async for message in receiver:
                assert len(message.payload) == len(PAYLOAD)
                message.ack()
                left -= 1
                if not left:
                    break
            await receiver.flush()
            times.put(time.time())

    uvloop.run(work())


def _publish(port: int, queue: str, count: int, times: multiprocessing.Queue[float]) -> None:
    times.put(AmqpConnection(port).publish(queue, PAYLOAD, count))


def _consume(port: int, queue: str, count: int, times: multiprocessing.Queue[float]) -> None:
    times.put(AmqpConnection(port).consume(queue, count))


def _measure(produce: object, consume: object, where: object, queues: tuple[str, str], count: int):
    """Messages a second from the first send to the last durable acknowledgement."""
    times: multiprocessing.Queue[float] = multiprocessing.Queue()
    first, last = queues
    workers = [
        multiprocessing.Process(target=consume, args=(where, last, count, times)),
        multiprocessing.Process(target=produce, args=(where, first, count, times)),
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        if worker.exitcode:
            for each in workers:
                each.terminate()
            raise SystemExit(f"a worker failed with status {worker.exitcode}")
    stamps = [times.get(), times.get()]
    return count / (max(stamps) - min(stamps))


@contextmanager
def _penstock(directory: Path) -> Iterator[str]:
    config = BrokerConfig(
        "bench",
        str(directory / "data"),
        listen="127.0.0.1:0",
        pubends=0,
        queues={"work": QueueConfig("work")},
        aliases={"orders": AliasConfig("orders", ("work@bench",))},
    )
    write_config(directory / "bench.toml", config)
    with BrokerProcess(directory / "bench.toml", directory / "bench.log") as broker:
        host, port = broker.address
        yield f"penstock://{host}:{port}"


@contextmanager
def _rabbitmq(directory: Path) -> Iterator[int | None]:
    if not RABBITMQ.exists():
        yield None
        return
    port = free_port()
    (directory / "rabbitmq.conf").write_text(f"listeners.tcp.local = 127.0.0.1:{port}\n")
    (directory / "enabled_plugins").write_text("[].\n")
    environment = {
        **os.environ,
        "HOME": str(directory),
        "RABBITMQ_NODENAME": f"bench{port}@localhost",
        "RABBITMQ_MNESIA_BASE": str(directory / "mnesia"),
        "RABBITMQ_LOG_BASE": str(directory / "log"),
        "RABBITMQ_CONFIG_FILE": str(directory / "rabbitmq.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "enabled_plugins"),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "ERL_EPMD_PORT": str(free_port()),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }
    with (directory / "rabbitmq.out").open("wb") as log:
        server = subprocess.Popen(
            [str(RABBITMQ)],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        _wait_for_rabbitmq(port, server)
        yield port
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)
        subprocess.run(
            ["epmd", "-port", environment["ERL_EPMD_PORT"], "-kill"],
            check=False,
            capture_output=True,
        )


def _wait_for_rabbitmq(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if server.poll() is not None:
            raise RuntimeError("RabbitMQ did not start; see rabbitmq.out in its directory")
        try:
            AmqpConnection(port)
            return
        except (OSError, ConnectionError):
            time.sleep(0.2)
    raise RuntimeError("RabbitMQ did not accept connections in two minutes")


def main() -> None:
    """Measure, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    count = arguments.messages
    figures: dict[str, list[float]] = {"queue": [], "alias queue": [], "RabbitMQ quorum": []}
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name:
        directory = Path(name)
        with _penstock(directory) as url, _rabbitmq(directory) as port:
            if port is not None:
                AmqpConnection(port).declare("work", "quorum")
            for _ in range(arguments.rounds):
                pairs = {"queue": ("work", "work"), "alias queue": ("orders", "work")}
                for line, queues in pairs.items():
                    figures[line].append(_measure(_send, _receive, url, queues, count))
                if port is not None:
                    fewer = max(1, count // 4)
                    rate = _measure(_publish, _consume, port, ("work", "work"), fewer)
                    figures["RabbitMQ quorum"].append(rate)
    for line, rates in figures.items():
        if rates:
            shown = ", ".join(f"{rate:,.0f}" for rate in rates)
            print(f"{line:16} median {median(rates):>10,.0f} messages/s   ({shown})")
        else:
            print(f"{line:16} is missing on this machine")
    if figures["RabbitMQ quorum"]:
        ratio = median(figures["queue"]) / median(figures["RabbitMQ quorum"])
        print(f"queue / RabbitMQ quorum: {ratio:.1f}")
    print(f"alias / direct: {median(figures['alias queue']) / median(figures['queue']):.3f}")


if __name__ == "__main__":
    main()
