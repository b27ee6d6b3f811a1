# cython: language_level=3, boundscheck=False, wraparound=False
"""Bytes cut at offsets, each piece copied once."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uint32_t
from libc.string cimport memcpy


def cut(data, offsets):
    """The pieces of ``data`` between consecutive offsets (``<u4``), which were validated."""
    cdef Py_buffer whole, bounds
    cdef Py_ssize_t count, number
    cdef uint32_t low, high
    cdef bytes piece
    cdef list pieces
    PyObject_GetBuffer(data, &whole, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(offsets, &bounds, PyBUF_SIMPLE)
        try:
            count = bounds.len // 4 - 1
            if count < 0:
                raise ValueError("there is no offset")
            pieces = PyList_New(count)
            memcpy(&low, bounds.buf, 4)
            for number in range(count):
                memcpy(&high, <char *>bounds.buf + 4 * (number + 1), 4)
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
