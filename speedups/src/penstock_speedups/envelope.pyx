# cython: language_level=3, boundscheck=False, wraparound=False
"""The envelope of a message, put on and taken off (penstock/content/codec/envelope.py).

Where something is unusual both return None, and whoever asked does it in Python, which names what
is wrong.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from xxhash import xxh3_64_intdigest

from penstock_speedups.block_layout cimport padded

cdef enum:
    MAGIC = 0x5053
    WIRE_VERSION = 1
    MAX_ATTACHMENTS = 255
    PREAMBLE_BYTES = 16
    ENVELOPE_BYTES = 24
    LARGEST_PART = 0x7FFFFFFF


def seal(bytes head, list attachments):
    """The pieces of a message."""
    cdef Py_ssize_t count = len(attachments), head_size = PyBytes_GET_SIZE(head), size, at
    cdef Py_ssize_t lead = padded(head_size) + padded(4 * count), length = lead
    cdef uint16_t magic = MAGIC
    cdef uint32_t short
    cdef uint64_t long
    cdef bytes checked, first
    cdef char *to
    cdef list pieces
    if count > MAX_ATTACHMENTS or head_size > LARGEST_PART:
        return None
    checked = PyBytes_FromStringAndSize(NULL, PREAMBLE_BYTES + lead)
    to = PyBytes_AS_STRING(checked)
    memset(to + PREAMBLE_BYTES + head_size, 0, lead - head_size)
    memcpy(to + PREAMBLE_BYTES, PyBytes_AS_STRING(head), head_size)
    pieces = [None]
    at = PREAMBLE_BYTES + padded(head_size)
    for each in attachments:
        size = len(each)
        if size > LARGEST_PART:
            return None
        short = size
        memcpy(to + at, &short, 4)
        at += 4
        length += padded(size)
        pieces.append(each)
        if size & 7:
            pieces.append(bytes(padded(size) - size))
    memcpy(to, &magic, 2)
    to[2] = WIRE_VERSION
    to[3] = <char>count
    short = head_size
    memcpy(to + 4, &short, 4)
    long = length
    memcpy(to + 8, &long, 8)
    long = xxh3_64_intdigest(checked)
    first = PyBytes_FromStringAndSize(NULL, ENVELOPE_BYTES + lead)
    to = PyBytes_AS_STRING(first)
    memcpy(to, PyBytes_AS_STRING(checked), PREAMBLE_BYTES)
    memcpy(to + PREAMBLE_BYTES, &long, 8)
    memcpy(to + ENVELOPE_BYTES, PyBytes_AS_STRING(checked) + PREAMBLE_BYTES, lead)
    pieces[0] = first
    return pieces


cdef bytes checked_part(const char *data, Py_ssize_t size):
    """What the checksum is over, if the envelope fits these bytes and the checksum too."""
    cdef uint16_t magic
    cdef uint32_t head_size
    cdef uint64_t length, checksum
    cdef Py_ssize_t end
    cdef bytes checked
    if size < ENVELOPE_BYTES:
        return None
    memcpy(&magic, data, 2)
    memcpy(&head_size, data + 4, 4)
    memcpy(&length, data + 8, 8)
    memcpy(&checksum, data + 16, 8)
    if magic != MAGIC or <uint8_t>data[2] != WIRE_VERSION or length != <uint64_t>(size - ENVELOPE_BYTES):
        return None
    end = ENVELOPE_BYTES + padded(head_size) + padded(4 * <Py_ssize_t><uint8_t>data[3])
    if end > size:
        return None
    checked = PyBytes_FromStringAndSize(NULL, end - 8)
    memcpy(PyBytes_AS_STRING(checked), data, PREAMBLE_BYTES)
    memcpy(PyBytes_AS_STRING(checked) + PREAMBLE_BYTES, data + ENVELOPE_BYTES, end - ENVELOPE_BYTES)
    if xxh3_64_intdigest(checked) != checksum:
        return None
    return checked


def opened(data):
    """The head and the attachments of a whole message, or None."""
    cdef Py_buffer buffer
    cdef Py_ssize_t size, at, number
    cdef uint32_t head_size, short
    cdef bytes checked
    cdef const char *table
    cdef list attachments
    PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
    try:
        size = buffer.len
        checked = checked_part(<const char *>buffer.buf, size)
    finally:
        PyBuffer_Release(&buffer)
    if checked is None:
        return None
    memcpy(&head_size, PyBytes_AS_STRING(checked) + 4, 4)
    table = PyBytes_AS_STRING(checked) + PREAMBLE_BYTES + padded(head_size)
    at = PyBytes_GET_SIZE(checked) + 8
    attachments = []
    view = None
    for number in range(<uint8_t>PyBytes_AS_STRING(checked)[3]):
        if view is None:
            view = memoryview(data)
        memcpy(&short, table + 4 * number, 4)
        if at + padded(short) > size:
            return None
        attachments.append(view[at : at + short])
        at += padded(short)
    return PyBytes_FromStringAndSize(PyBytes_AS_STRING(checked) + PREAMBLE_BYTES, head_size), attachments
