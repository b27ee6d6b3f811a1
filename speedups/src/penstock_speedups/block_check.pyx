# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Whether the bytes of a block are a batch, without making anything of them.

``extent`` says yes only to blocks to which ``penstock.content.rows.block`` would say yes; where it is
not sure it returns None, and whoever asked reads the block in Python, which names what is wrong.
The header and the checksum were checked before (``sound_rows``).
"""

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from xxhash import xxh3_64_intdigest

from penstock_speedups.block_layout cimport (
    BLOCK_VERSION,
    BOOL,
    BYTES,
    DESCRIPTOR_BYTES,
    FLOAT,
    HAS_PRESENCE,
    HEADER_BYTES,
    INT,
    padded,
    STRING,
)

cdef enum:
    FEW_ENTRIES = 16
    LARGEST_SURE = 0x7FFFFFFF

cdef struct Widths:
    Py_ssize_t name
    Py_ssize_t dictionary_value
    Py_ssize_t payload


cdef inline uint32_t u32(const char *at) noexcept:
    cdef uint32_t value
    memcpy(&value, at, 4)
    return value


cdef inline uint16_t u16(const char *at) noexcept:
    cdef uint16_t value
    memcpy(&value, at, 2)
    return value


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
    """The longest of so many parts, or -1 if the offsets do not ascend from 0 to the total."""
    cdef Py_ssize_t i, most = 0
    cdef uint32_t low = u32(offsets), high
    if low != 0:
        return -1
    for i in range(1, count + 1):
        high = u32(offsets + 4 * i)
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
            at = u32(offsets + 4 * i)
            seen.add(PyBytes_FromStringAndSize(<char *>data + at, u32(offsets + 4 * i + 4) - at))
        return len(seen) == count
    for i in range(1, count):
        at = u32(offsets + 4 * i)
        size = u32(offsets + 4 * i + 4) - at
        for j in range(i):
            if u32(offsets + 4 * j + 4) - u32(offsets + 4 * j) == <uint32_t>size and (
                memcmp(data + at, data + u32(offsets + 4 * j), size) == 0
            ):
                return False
    return True


cdef bint values_are_texts(const char *offsets, const char *data, Py_ssize_t count, Py_ssize_t size):
    cdef Py_ssize_t i
    cdef uint32_t at
    if is_ascii(data, size):
        return True
    for i in range(count):
        at = u32(offsets + 4 * i)
        if not is_text(data + at, u32(offsets + 4 * i + 4) - at):
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


cdef bint look_at(const char *data, Py_ssize_t size, Widths *widths):
    cdef Py_ssize_t count = u16(data + 10), rows = u32(data + 12), payload = u32(data + 16)
    cdef Py_ssize_t end = size - padded(payload) - padded(4 * (rows + 1))
    cdef Py_ssize_t at = HEADER_BYTES + padded(DESCRIPTOR_BYTES * count)
    cdef const char *descriptor = data + HEADER_BYTES
    cdef const char *name
    cdef const char *last_name = NULL
    cdef Py_ssize_t i, names = 0, name_size, last_size = 0, kind, flags, width, region, part
    cdef uint32_t entries, dictionary
    if end < at:
        return False
    for i in range(count):
        names += u16(descriptor + DESCRIPTOR_BYTES * i)
    name = data + at
    at += padded(names)
    if at > end:
        return False
    for i in range(count):
        name_size = u16(descriptor)
        kind = <uint8_t>descriptor[2]
        flags = <uint8_t>descriptor[3]
        entries = u32(descriptor + 4)
        dictionary = u32(descriptor + 8)
        descriptor += DESCRIPTOR_BYTES
        if not is_text(name, name_size) or flags & ~HAS_PRESENCE:
            return False
        # UTF-8 sorts as its code points do.  Two columns of one name are left to Python.
        if last_name != NULL and not ascending(last_name, last_size, name, name_size):
            return False
        last_name, last_size = name, name_size
        name += name_size
        widths.name = max(widths.name, name_size)
        if kind == STRING or kind == BYTES:
            width = 1 if entries <= 1 << 8 else 2 if entries <= 1 << 16 else 4
        elif entries or dictionary:
            return False
        elif kind == INT or kind == FLOAT:
            width = 8
        elif kind == BOOL:
            width = 1
        else:
            return False
        region = padded(rows * width)
        if flags:
            region += padded((rows + 7) // 8)
        if kind == STRING or kind == BYTES:
            region += padded(4 * (<Py_ssize_t>entries + 1)) + padded(dictionary)
        if at + region > end:
            return False
        if flags:
            at += padded((rows + 7) // 8)
        if kind == BOOL and not codes_fit(data + at, rows, 1, 2):
            return False
        if kind == STRING or kind == BYTES:
            if not codes_fit(data + at, rows, width, entries):
                return False
            at += padded(rows * width)
            part = longest(data + at, entries, dictionary)
            if part < 0:
                return False
            widths.dictionary_value = max(widths.dictionary_value, part)
            region = at + padded(4 * (<Py_ssize_t>entries + 1))
            if not are_distinct(data + at, data + region, entries):
                return False
            if kind == STRING and not values_are_texts(data + at, data + region, entries, dictionary):
                return False
            at = region + padded(dictionary)
        else:
            at += padded(rows * width)
    if at != end:
        return False
    part = longest(data + end, rows, payload)
    widths.payload = part
    return part >= 0


def sound_rows(block):
    """The number of rows if header and checksum are right; otherwise, or if not sure, -1."""
    cdef Py_buffer view
    cdef const char *data
    cdef uint64_t checksum
    cdef Py_ssize_t size, rows, least
    PyObject_GetBuffer(block, &view, PyBUF_SIMPLE)
    try:
        data, size = <const char *>view.buf, view.len
        if size < HEADER_BYTES or size > LARGEST_SURE or size & 7:
            return -1
        if u16(data + 8) != BLOCK_VERSION or u32(data + 20) != 0:
            return -1
        rows = u32(data + 12)
        least = HEADER_BYTES + padded(DESCRIPTOR_BYTES * u16(data + 10))
        least += padded(4 * (rows + 1)) + padded(u32(data + 16))
        if least > size:
            return -1
        memcpy(&checksum, data, 8)
        checked = PyMemoryView_FromMemory(<char *>data + 8, size - 8, PyBUF_READ)
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
        if view.len < HEADER_BYTES or not look_at(<const char *>view.buf, view.len, &widths):
            return None
        columns = u16(<const char *>view.buf + 10)
    finally:
        PyBuffer_Release(&view)
    return columns, widths.name, widths.dictionary_value, widths.payload
