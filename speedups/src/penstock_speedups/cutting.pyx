# cython: language_level=3, boundscheck=False, wraparound=False
"""Cuts bytes at offsets; each piece is copied once."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uint32_t

from penstock_speedups.block_layout cimport OFFSET_BYTES
from penstock_speedups.regions cimport u32


def cut(data, offsets):
    """The pieces of ``data`` between consecutive offsets (``<u4``)."""
    cdef Py_buffer whole, bounds
    cdef Py_ssize_t count, number
    cdef uint32_t low, high
    cdef bytes piece
    cdef list pieces
    PyObject_GetBuffer(data, &whole, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(offsets, &bounds, PyBUF_SIMPLE)
        try:
            count = bounds.len // OFFSET_BYTES - 1
            if count < 0:
                raise ValueError("there is no offset")
            pieces = PyList_New(count)
            low = u32(<const char *>bounds.buf)
            for number in range(count):
                high = u32(<const char *>bounds.buf + OFFSET_BYTES * (number + 1))
                if high < low or high > whole.len:
                    raise ValueError("the offsets do not fit the bytes")
                piece = PyBytes_FromStringAndSize(<char *>whole.buf + low, high - low)
                Py_INCREF(piece)
                PyList_SET_ITEM(pieces, number, piece)
                low = high
            return pieces
        finally:
            PyBuffer_Release(&bounds)
    finally:
        PyBuffer_Release(&whole)
