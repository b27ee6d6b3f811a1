# How long the regions of a block are, and how their numbers are read: penstock/content/rows/layout.py
# in C, with the numbers that speedups/generate_layout.py writes.

from libc.stdint cimport uint16_t, uint32_t
from libc.string cimport memcpy

from penstock_speedups.block_layout cimport (
    ALIGNMENT,
    BOOL,
    BYTES,
    DESCRIPTOR_BYTES,
    FLOAT,
    INT,
    OFFSET_BYTES,
    ONE_BYTE_CODES,
    STRING,
    TWO_BYTE_CODES,
)


cdef inline uint16_t u16(const char *at) noexcept:
    cdef uint16_t value
    memcpy(&value, at, 2)
    return value


cdef inline uint32_t u32(const char *at) noexcept:
    cdef uint32_t value
    memcpy(&value, at, 4)
    return value


cdef inline Py_ssize_t padded(Py_ssize_t length) noexcept:
    return (length + ALIGNMENT - 1) & ~<Py_ssize_t>(ALIGNMENT - 1)


cdef inline Py_ssize_t presence_bytes(Py_ssize_t rows) noexcept:
    """The room of a presence bitmap."""
    return padded((rows + 7) // 8)


cdef inline Py_ssize_t offsets_bytes(Py_ssize_t count) noexcept:
    return padded(OFFSET_BYTES * (count + 1))


cdef inline Py_ssize_t descriptors_bytes(Py_ssize_t columns) noexcept:
    return padded(DESCRIPTOR_BYTES * columns)


cdef inline Py_ssize_t payloads_bytes(Py_ssize_t rows, Py_ssize_t payload) noexcept:
    return offsets_bytes(rows) + padded(payload)


cdef inline bint has_dictionary(int kind) noexcept:
    return kind == STRING or kind == BYTES


cdef inline Py_ssize_t value_bytes(int kind, Py_ssize_t entries) noexcept:
    """The width of a value or code; 0 for a type that does not exist."""
    if has_dictionary(kind):
        return 1 if entries <= ONE_BYTE_CODES else 2 if entries <= TWO_BYTE_CODES else 4
    if kind == INT or kind == FLOAT:
        return 8
    return 1 if kind == BOOL else 0


cdef inline Py_ssize_t column_bytes(
    Py_ssize_t rows, int kind, bint presence, Py_ssize_t entries, Py_ssize_t dictionary
) noexcept:
    cdef Py_ssize_t size = padded(rows * value_bytes(kind, entries))
    if presence:
        size += presence_bytes(rows)
    if has_dictionary(kind):
        size += offsets_bytes(entries) + padded(dictionary)
    return size
