# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Checks the bytes of a block without building columns from them.

``extent`` accepts only blocks that ``penstock.content.rows.block`` accepts.  Where it cannot decide
it returns None, and the caller reads the block in Python, which names the fault.  ``sound_rows``
checks the header and the checksum; it runs first.
"""

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from xxhash import xxh3_64_intdigest

from penstock_speedups.block_layout cimport *
from penstock_speedups.regions cimport (
    column_bytes,
    descriptors_bytes,
    has_dictionary,
    offsets_bytes,
    padded,
    payloads_bytes,
    presence_bytes,
    u16,
    u32,
    value_bytes,
)

cdef enum:
    FEW_ENTRIES = 16  # Up to here comparing all pairs is quicker than building a set.

cdef struct Widths:
    Py_ssize_t name
    Py_ssize_t dictionary_value
    Py_ssize_t payload

cdef struct Descriptor:
    Py_ssize_t name_bytes
    int kind
    int flags
    uint32_t entries
    uint32_t dictionary_bytes


cdef inline uint32_t offset_at(const char *offsets, Py_ssize_t number) noexcept:
    return u32(offsets + OFFSET_BYTES * number)


cdef bint is_ascii(const char *at, Py_ssize_t size) noexcept:
    cdef Py_ssize_t i
    cdef uint8_t seen = 0
    for i in range(size):
        seen |= <uint8_t>at[i]
    return seen < 128


cdef bint is_text(const char *at, Py_ssize_t size):
    if is_ascii(at, size):
        return True
    try:
        PyUnicode_DecodeUTF8(<char *>at, size, NULL)
    except UnicodeDecodeError:
        return False
    return True


cdef Py_ssize_t longest(const char *offsets, Py_ssize_t count, Py_ssize_t total) noexcept:
    """The longest of ``count`` parts, or -1 if the offsets do not ascend from 0 to the total."""
    cdef Py_ssize_t i, most = 0
    cdef uint32_t low = u32(offsets), high
    if low != 0:
        return -1
    for i in range(1, count + 1):
        high = offset_at(offsets, i)
        if high < low:
            return -1
        if high - low > most:
            most = high - low
        low = high
    return most if low == total else -1


cdef bint are_distinct(const char *offsets, const char *data, Py_ssize_t count):
    cdef Py_ssize_t i, j, size
    cdef uint32_t at
    if count > FEW_ENTRIES:
        seen = set()
        for i in range(count):
            at = offset_at(offsets, i)
            seen.add(PyBytes_FromStringAndSize(<char *>data + at, offset_at(offsets, i + 1) - at))
        return len(seen) == count
    for i in range(1, count):
        at = offset_at(offsets, i)
        size = offset_at(offsets, i + 1) - at
        for j in range(i):
            if offset_at(offsets, j + 1) - offset_at(offsets, j) == <uint32_t>size and (
                memcmp(data + at, data + offset_at(offsets, j), size) == 0
            ):
                return False
    return True


cdef bint values_are_texts(const char *offsets, const char *data, Py_ssize_t count, Py_ssize_t size):
    cdef Py_ssize_t i
    cdef uint32_t at
    if is_ascii(data, size):
        return True
    for i in range(count):
        at = offset_at(offsets, i)
        if not is_text(data + at, offset_at(offsets, i + 1) - at):
            return False
    return True


cdef bint codes_fit(const char *at, Py_ssize_t rows, Py_ssize_t width, uint32_t entries) noexcept:
    cdef Py_ssize_t i
    cdef uint32_t most = 0, value
    if rows == 0:
        return True
    if width == 1:
        for i in range(rows):
            value = (<const uint8_t *>at)[i]
            most = value if value > most else most
    elif width == 2:
        for i in range(rows):
            value = u16(at + 2 * i)
            most = value if value > most else most
    else:
        for i in range(rows):
            value = u32(at + 4 * i)
            most = value if value > most else most
    return most < entries


cdef int ascending(const char *first, Py_ssize_t first_size, const char *second, Py_ssize_t second_size) noexcept:
    """Whether the first name comes before the second; equal names are not ascending."""
    cdef Py_ssize_t shorter = first_size if first_size < second_size else second_size
    cdef int order = memcmp(first, second, shorter)
    return order < 0 or (order == 0 and first_size < second_size)


cdef Descriptor descriptor_at(const char *at) noexcept:
    cdef Descriptor found
    found.name_bytes = u16(at + DESCRIPTOR_NAME_BYTES_AT)
    found.kind = <uint8_t>at[DESCRIPTOR_KIND_AT]
    found.flags = <uint8_t>at[DESCRIPTOR_FLAGS_AT]
    found.entries = u32(at + DESCRIPTOR_ENTRIES_AT)
    found.dictionary_bytes = u32(at + DESCRIPTOR_DICTIONARY_BYTES_AT)
    return found


cdef Py_ssize_t names_bytes(const char *descriptors, Py_ssize_t count) noexcept:
    cdef Py_ssize_t i, total = 0
    for i in range(count):
        total += u16(descriptors + DESCRIPTOR_BYTES * i + DESCRIPTOR_NAME_BYTES_AT)
    return total


cdef bint dictionary_is_good(const char *offsets, Descriptor *column, Widths *widths):
    cdef Py_ssize_t part = longest(offsets, column.entries, column.dictionary_bytes)
    cdef const char *data = offsets + offsets_bytes(column.entries)
    if part < 0 or not are_distinct(offsets, data, column.entries):
        return False
    widths.dictionary_value = max(widths.dictionary_value, part)
    return column.kind != STRING or values_are_texts(
        offsets, data, column.entries, column.dictionary_bytes
    )


cdef Py_ssize_t checked_column(
    const char *data, Py_ssize_t room, Py_ssize_t rows, Descriptor *column, Widths *widths
) except -2:
    """The number of bytes of a column, or -1 if it is wrong or does not fit the room."""
    cdef Py_ssize_t at = 0, size, width = value_bytes(column.kind, column.entries)
    if width == 0 or column.flags & ~HAS_PRESENCE:
        return -1
    if not has_dictionary(column.kind) and (column.entries or column.dictionary_bytes):
        return -1
    size = column_bytes(
        rows, column.kind, column.flags, column.entries, column.dictionary_bytes
    )
    if size > room:
        return -1
    if column.flags:
        at = presence_bytes(rows)
    if column.kind == BOOL and not codes_fit(data + at, rows, 1, 2):
        return -1
    if has_dictionary(column.kind):
        if not codes_fit(data + at, rows, width, column.entries):
            return -1
        if not dictionary_is_good(data + at + padded(rows * width), column, widths):
            return -1
    return size


cdef bint is_good(const char *data, Py_ssize_t size, Widths *widths):
    """Check all columns and the payload offsets; the header was checked before."""
    cdef Py_ssize_t count = u16(data + HEADER_COLUMNS_AT), rows = u32(data + HEADER_ROWS_AT)
    cdef Py_ssize_t payload = u32(data + HEADER_PAYLOAD_BYTES_AT)
    cdef Py_ssize_t end = size - payloads_bytes(rows, payload)
    cdef Py_ssize_t at = HEADER_BYTES + descriptors_bytes(count)
    cdef const char *name = data + at
    cdef const char *last_name = NULL
    cdef Py_ssize_t i, used, last_size = 0
    cdef Descriptor column
    if end < at:
        return False
    at += padded(names_bytes(data + HEADER_BYTES, count))
    if at > end:
        return False
    for i in range(count):
        column = descriptor_at(data + HEADER_BYTES + DESCRIPTOR_BYTES * i)
        if not is_text(name, column.name_bytes):
            return False
        # UTF-8 sorts like its code points.  Two columns of one name are left to Python.
        if last_name != NULL and not ascending(last_name, last_size, name, column.name_bytes):
            return False
        last_name, last_size = name, column.name_bytes
        name += column.name_bytes
        widths.name = max(widths.name, column.name_bytes)
        used = checked_column(data + at, end - at, rows, &column, widths)
        if used < 0:
            return False
        at += used
    if at != end:
        return False
    widths.payload = longest(data + end, rows, payload)
    return widths.payload >= 0


def sound_rows(block):
    """The number of rows if header and checksum are right; -1 if they are wrong or not certain."""
    cdef Py_buffer view
    cdef const char *data
    cdef uint64_t checksum
    cdef Py_ssize_t size, rows, least
    PyObject_GetBuffer(block, &view, PyBUF_SIMPLE)
    try:
        data, size = <const char *>view.buf, view.len
        if size < HEADER_BYTES or size > MAX_BLOCK_BYTES or size % ALIGNMENT:
            return -1
        if u16(data + HEADER_VERSION_AT) != BLOCK_VERSION or u32(data + HEADER_RESERVED_AT) != 0:
            return -1
        rows = u32(data + HEADER_ROWS_AT)
        least = HEADER_BYTES + descriptors_bytes(u16(data + HEADER_COLUMNS_AT))
        least += payloads_bytes(rows, u32(data + HEADER_PAYLOAD_BYTES_AT))
        if least > size:
            return -1
        memcpy(&checksum, data + HEADER_CHECKSUM_AT, CHECKSUM_BYTES)
        checked = PyMemoryView_FromMemory(
            <char *>data + CHECKSUM_BYTES, size - CHECKSUM_BYTES, PyBUF_READ
        )
        return rows if xxh3_64_intdigest(checked) == checksum else -1
    finally:
        PyBuffer_Release(&view)


def extent(block):
    """Number of columns, and bytes of the longest name, dictionary value and payload; or None."""
    cdef Py_buffer view
    cdef Widths widths
    widths.name = 0
    widths.dictionary_value = 0
    widths.payload = 0
    PyObject_GetBuffer(block, &view, PyBUF_SIMPLE)
    try:
        if view.len < HEADER_BYTES or not is_good(<const char *>view.buf, view.len, &widths):
            return None
        columns = u16(<const char *>view.buf + HEADER_COLUMNS_AT)
    finally:
        PyBuffer_Release(&view)
    return columns, widths.name, widths.dictionary_value, widths.payload
