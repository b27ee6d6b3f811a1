# cython: language_level=3, boundscheck=False, wraparound=False
"""Seals and opens the envelope of a message (penstock/content/codec/envelope.py).

Both functions return None for anything unusual; the caller then uses the Python version, which names
the fault.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from xxhash import xxh3_64_intdigest

from penstock_speedups.envelope_layout cimport *
from penstock_speedups.regions cimport padded

cdef enum:
    LARGEST_PART = 0x7FFFFFFF  # Larger parts are left to Python, which checks them.


cdef inline Py_ssize_t lead_bytes(Py_ssize_t head_bytes, Py_ssize_t attachments) noexcept:
    """The room of the head and the attachment table."""
    return padded(head_bytes) + padded(LENGTH_BYTES * attachments)


def seal(bytes head, list attachments):
    """The pieces of a message, to be written one after another."""
    cdef Py_ssize_t count = len(attachments), head_size = PyBytes_GET_SIZE(head), size, at
    cdef Py_ssize_t lead = lead_bytes(head_size, count), length = lead
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
        memcpy(to + at, &short, LENGTH_BYTES)
        at += LENGTH_BYTES
        length += padded(size)
        pieces.append(each)
        if padded(size) != size:
            pieces.append(bytes(padded(size) - size))
    memcpy(to + ENVELOPE_MAGIC_AT, &magic, 2)
    to[ENVELOPE_VERSION_AT] = WIRE_VERSION
    to[ENVELOPE_ATTACHMENTS_AT] = <char>count
    short = head_size
    memcpy(to + ENVELOPE_HEAD_BYTES_AT, &short, 4)
    long = length
    memcpy(to + ENVELOPE_BODY_BYTES_AT, &long, 8)
    long = xxh3_64_intdigest(checked)
    first = PyBytes_FromStringAndSize(NULL, ENVELOPE_BYTES + lead)
    to = PyBytes_AS_STRING(first)
    memcpy(to, PyBytes_AS_STRING(checked), PREAMBLE_BYTES)
    memcpy(to + ENVELOPE_CHECKSUM_AT, &long, 8)
    memcpy(to + ENVELOPE_BYTES, PyBytes_AS_STRING(checked) + PREAMBLE_BYTES, lead)
    pieces[0] = first
    return pieces


cdef bytes checked_part(const char *data, Py_ssize_t size):
    """The bytes that the checksum covers, or None if the envelope or the checksum is wrong."""
    cdef uint16_t magic
    cdef uint32_t head_size
    cdef uint64_t length, checksum
    cdef Py_ssize_t end
    cdef bytes checked
    if size < ENVELOPE_BYTES:
        return None
    memcpy(&magic, data + ENVELOPE_MAGIC_AT, 2)
    memcpy(&head_size, data + ENVELOPE_HEAD_BYTES_AT, 4)
    memcpy(&length, data + ENVELOPE_BODY_BYTES_AT, 8)
    memcpy(&checksum, data + ENVELOPE_CHECKSUM_AT, 8)
    if magic != MAGIC or <uint8_t>data[ENVELOPE_VERSION_AT] != WIRE_VERSION:
        return None
    if length != <uint64_t>(size - ENVELOPE_BYTES):
        return None
    end = ENVELOPE_BYTES + lead_bytes(head_size, <uint8_t>data[ENVELOPE_ATTACHMENTS_AT])
    if end > size:
        return None
    checked = PyBytes_FromStringAndSize(NULL, end - (ENVELOPE_BYTES - PREAMBLE_BYTES))
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
    memcpy(&head_size, PyBytes_AS_STRING(checked) + ENVELOPE_HEAD_BYTES_AT, 4)
    table = PyBytes_AS_STRING(checked) + PREAMBLE_BYTES + padded(head_size)
    at = PyBytes_GET_SIZE(checked) + ENVELOPE_BYTES - PREAMBLE_BYTES
    attachments = []
    view = None
    for number in range(<uint8_t>PyBytes_AS_STRING(checked)[ENVELOPE_ATTACHMENTS_AT]):
        if view is None:
            view = memoryview(data)
        memcpy(&short, table + LENGTH_BYTES * number, LENGTH_BYTES)
        if at + padded(short) > size:
            return None
        attachments.append(view[at : at + short])
        at += padded(short)
    return PyBytes_FromStringAndSize(PyBytes_AS_STRING(checked) + PREAMBLE_BYTES, head_size), attachments
