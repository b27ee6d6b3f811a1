"""The two ends of a TCP connection that sends as much as it can, for experiments.

    python -m penstock.lab.worlds.tcp_traffic receive PORT SEGMENT BEGIN END INTERVAL NAME FILE
    python -m penstock.lab.worlds.tcp_traffic send PORT SEGMENT BEGIN END HOST

Times are nanoseconds.  The sender connects at BEGIN and sends until END, with segments that have
SEGMENT bytes on the link.  The receiver writes what has arrived so far to FILE, as telemetry of the
connection NAME, after every INTERVAL.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from penstock.core.clock import Duration, Instant, in_seconds
from penstock.core.trace import TraceRecord

HEADERS_BYTES: Final = 14 + 20 + 20
"""Ethernet, IP and TCP."""

TIME_STAMP_BYTES: Final = 12
"""Linux adds a time stamp to every segment; it counts as data in ``TCP_MAXSEG``."""

READ_BYTES: Final = 65_536
CONNECT_AGAIN_S: Final = 0.05


def data_bytes(segment_bytes: int) -> int:
    """The data in a segment of this size on the link."""
    return segment_bytes - HEADERS_BYTES - TIME_STAMP_BYTES


def receive(
    port: int, segment_bytes: int, end: Instant, interval: Duration, name: str, path: Path
) -> None:
    """Count what arrives, with headers, until the end."""
    encoder = msgspec.json.Encoder()
    with (
        path.open("wb", buffering=0) as file,
        socket.create_server(("0.0.0.0", port)) as listener,
    ):
        connection, _ = listener.accept()
        connection.settimeout(in_seconds(interval) / 10)
        received, due = 0, time.time_ns()
        while (now := time.time_ns()) < end:
            if due <= now:
                carried = received * segment_bytes / data_bytes(segment_bytes)
                record = TraceRecord(now, "run", name, "tcp_delivered_bytes", carried)
                file.write(encoder.encode_lines([record]))
                due += interval
            try:
                data = connection.recv(READ_BYTES)
            except TimeoutError:
                continue
            if not data:
                return
            received += len(data)


def send(port: int, segment_bytes: int, begin: Instant, end: Instant, host: str) -> None:
    """Send as fast as TCP allows, from the beginning to the end."""
    time.sleep(max(0.0, in_seconds(begin - time.time_ns())))
    connection = _connected(host, port, segment_bytes, end)
    data = bytes(READ_BYTES // 4)
    try:
        while time.time_ns() < end:
            connection.sendall(data)
    except OSError:
        return


def _connected(host: str, port: int, segment_bytes: int, end: Instant) -> socket.socket:
    """A connection that uses NewReno; the receiver may listen a little later."""
    while True:
        connection = socket.socket()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        most = data_bytes(segment_bytes) + TIME_STAMP_BYTES
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, most)
        try:
            connection.connect((host, port))
        except ConnectionRefusedError:
            connection.close()
            if time.time_ns() >= end:
                raise
            time.sleep(CONNECT_AGAIN_S)
        else:
            return connection


def main(arguments: list[str]) -> None:
    """Run one end."""
    end_of_it, port, segment_bytes, begin, end, *rest = arguments
    if end_of_it == "receive":
        interval, name, path = rest
        receive(int(port), int(segment_bytes), int(end), int(interval), name, Path(path))
    else:
        send(int(port), int(segment_bytes), int(begin), int(end), rest[0])


if __name__ == "__main__":
    main(sys.argv[1:])
