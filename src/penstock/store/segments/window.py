"""A movable view of a segment file: one read of the file serves many records.

Data is given as views of what was read, without a copy.  A view keeps alive the whole window that
it was cut from, at most ``window_bytes`` or one record, whichever is larger.

What the disk cannot read is seen as zeros: to whoever looks for records it is damage like any
other.
"""

from __future__ import annotations

import errno
import os
from typing import Final

import xxhash

from penstock.store.segments.framing import RECORD_HEADER_BYTES, RecordHeader, decode_record_header

DEFAULT_WINDOW_BYTES: Final = 256 * 1024
"""Large enough that the calls cost little beside the copying, small enough to be kept alive."""

LARGEST_WINDOW_BYTES: Final = 4 << 20
"""For who takes everything that is read at once: twice what a reader is answered at the most."""


UNREADABLE_BYTES: Final = 4096
"""A part of a file that cannot be read is looked at in pieces of a page, and given up by pages."""


class SegmentWindow:
    """Reads record headers and data of one segment, at ascending offsets for the best speed."""

    __slots__ = (
        "_block",
        "_descriptor",
        "_end",
        "_identity",
        "_start",
        "_window_bytes",
        "read_bytes",
    )

    def __init__(
        self,
        descriptor: int,
        identity: int,
        end: int,
        window_bytes: int = DEFAULT_WINDOW_BYTES,
    ) -> None:
        """Look at the bytes below ``end`` of an open file."""
        self._descriptor = descriptor
        self._identity = identity
        self._end = end
        self._window_bytes = window_bytes
        self.read_bytes = 0
        self._block = b""
        self._start = 0

    def header_at(self, offset: int) -> RecordHeader | None:
        """The header of the record at an offset, or None if no whole record stands there."""
        self._cover(offset, offset + RECORD_HEADER_BYTES)
        header = decode_record_header(
            self._block, offset - self._start, offset, identity=self._identity
        )
        return header if header is not None and header.end <= self._end else None

    def data_of(self, header: RecordHeader) -> memoryview | None:
        """The data of a record, or None if its checksum is wrong."""
        stop = header.data_offset + header.length
        self._cover(header.data_offset, stop)
        view = memoryview(self._block)[header.data_offset - self._start : stop - self._start]
        return view if xxhash.xxh3_64_intdigest(view) == header.data_checksum else None

    def block_at(self, offset: int) -> bytes:
        """The bytes of one window from an offset on; empty at the end."""
        self._cover(offset, min(offset + self._window_bytes, self._end))
        return self._block[offset - self._start :]

    def _cover(self, start: int, stop: int) -> None:
        if self._start <= start and stop <= self._start + len(self._block):
            return
        wanted = min(max(stop - start, self._window_bytes), self._end - start)
        self._block = _read(self._descriptor, max(wanted, 0), start)
        self.read_bytes += len(self._block)
        self._start = start


def _read(descriptor: int, count: int, offset: int) -> bytes:
    try:
        return os.pread(descriptor, count, offset)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
    pieces = []
    for at in range(offset, offset + count, UNREADABLE_BYTES):
        wanted = min(UNREADABLE_BYTES, offset + count - at)
        try:
            pieces.append(os.pread(descriptor, wanted, at))
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            pieces.append(bytes(wanted))
    return b"".join(pieces)
