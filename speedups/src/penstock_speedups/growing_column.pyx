# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""One column of a ``RowBuffer`` while rows are added to it.

Values are kept in eight bytes each and narrowed when they are written.  A row that lacks the
attribute gets a filler when the next value comes, or at the end, so that dictionaries come out in
the order of first appearance, fillers included.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from penstock_speedups.block_layout cimport (
    BYTES,
    DESCRIPTOR_DICTIONARY_BYTES_AT,
    DESCRIPTOR_ENTRIES_AT,
    DESCRIPTOR_FLAGS_AT,
    DESCRIPTOR_KIND_AT,
    DESCRIPTOR_NAME_BYTES_AT,
    HAS_PRESENCE,
    STRING,
)
from penstock_speedups.regions cimport (
    column_bytes,
    has_dictionary,
    offsets_bytes,
    padded,
    presence_bytes,
    value_bytes,
)

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object, Py_ssize_t *) except NULL

cdef enum:
    FIRST_ROWS = 64  # Room that a column starts with; most batches of a busy publisher are larger.


cdef class GrowingColumn:
    """The values of one attribute of one type, and which rows have it."""

    def __cinit__(self, str name, bytes raw_name, int kind):
        self.name = name
        self.raw_name = raw_name
        self.kind = kind
        self.values = NULL
        self.present = NULL
        self.count = 0
        self.capacity = 0
        self.holds_some = False
        self.entries = []
        self.codes = {}
        self.last_value = None
        self.last_code = 0
        self.dictionary_bytes = 0

    def __dealloc__(self):
        PyMem_RawFree(self.values)
        PyMem_RawFree(self.present)

    cdef int reserve(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t capacity
        cdef void *grown
        if rows <= self.capacity:
            return 0
        capacity = max(rows, 2 * self.capacity, <Py_ssize_t>FIRST_ROWS)
        grown = PyMem_RawRealloc(self.values, capacity * sizeof(int64_t))
        if grown == NULL:
            raise MemoryError()
        self.values = <int64_t *>grown
        if self.present != NULL:
            grown = PyMem_RawRealloc(self.present, capacity)
            if grown == NULL:
                raise MemoryError()
            self.present = <uint8_t *>grown
        self.capacity = capacity
        return 0

    cdef int fill(self, Py_ssize_t rows) except -1:
        """Add fillers for rows that lack the attribute, up to this number of rows."""
        cdef int64_t filler = 0
        cdef Py_ssize_t row
        if self.count >= rows:
            return 0
        self.reserve(rows)
        if self.present == NULL:
            self.present = <uint8_t *>PyMem_RawMalloc(self.capacity)
            if self.present == NULL:
                raise MemoryError()
            memset(self.present, 1, self.count)
        if self.kind == STRING:
            filler = self.code_of("")
        elif self.kind == BYTES:
            filler = self.code_of(b"")
        for row in range(self.count, rows):
            self.values[row] = filler
        memset(self.present + self.count, 0, rows - self.count)
        self.count = rows
        return 0

    cdef int64_t code_of(self, object value) except -1:
        cdef PyObject *found
        cdef Py_ssize_t size
        if value is self.last_value:
            return self.last_code
        found = PyDict_GetItem(self.codes, value)
        if found != NULL:
            self.last_code = <int64_t><object>found
        else:
            if self.kind == STRING:
                PyUnicode_AsUTF8AndSize(value, &size)
            else:
                size = PyBytes_GET_SIZE(value)
            self.dictionary_bytes += size
            self.last_code = len(self.entries)
            self.entries.append(value)
            self.codes[value] = self.last_code
        self.last_value = value
        return self.last_code

    cdef int put(self, Py_ssize_t row, object value, int64_t bits) except -1:
        """Add the value of a row; rows come in ascending order."""
        if self.count < row:
            self.fill(row)
        if has_dictionary(self.kind):
            bits = self.code_of(value)
        self.values[row] = bits
        if self.present != NULL:
            self.present[row] = 1
        self.count = row + 1
        self.holds_some = True
        return 0

    cdef Py_ssize_t size(self, Py_ssize_t rows):
        return column_bytes(
            rows, self.kind, self.present != NULL, len(self.entries), self.dictionary_bytes
        )

    cdef void describe(self, char *at):
        """Write the column's descriptor."""
        cdef uint16_t name_bytes = <uint16_t>len(self.raw_name)
        cdef uint32_t entries = <uint32_t>len(self.entries)
        cdef uint32_t dictionary_bytes = <uint32_t>self.dictionary_bytes
        memcpy(at + DESCRIPTOR_NAME_BYTES_AT, &name_bytes, 2)
        at[DESCRIPTOR_KIND_AT] = <char>self.kind
        at[DESCRIPTOR_FLAGS_AT] = HAS_PRESENCE if self.present != NULL else 0
        memcpy(at + DESCRIPTOR_ENTRIES_AT, &entries, 4)
        memcpy(at + DESCRIPTOR_DICTIONARY_BYTES_AT, &dictionary_bytes, 4)

    cdef char *write(self, char *at, Py_ssize_t rows) except NULL:
        """The column's regions; the padding is zero already."""
        cdef Py_ssize_t row, size, width = value_bytes(self.kind, len(self.entries))
        cdef uint32_t offset = 0
        cdef const char *text
        cdef uint32_t *offsets
        if self.present != NULL:
            for row in range(rows):
                if self.present[row]:
                    (<uint8_t *>at)[row >> 3] |= <uint8_t>(1 << (row & 7))
            at += presence_bytes(rows)
        if width == 8:
            memcpy(at, self.values, 8 * rows)
        elif width == 1:
            for row in range(rows):
                (<uint8_t *>at)[row] = <uint8_t>self.values[row]
        elif width == 2:
            for row in range(rows):
                (<uint16_t *>at)[row] = <uint16_t>self.values[row]
        else:
            for row in range(rows):
                (<uint32_t *>at)[row] = <uint32_t>self.values[row]
        at += padded(rows * width)
        if has_dictionary(self.kind):
            offsets = <uint32_t *>at
            at += offsets_bytes(len(self.entries))
            offsets[0] = 0
            row = 0
            for entry in self.entries:
                if self.kind == STRING:
                    text = PyUnicode_AsUTF8AndSize(entry, &size)
                else:
                    text = PyBytes_AS_STRING(entry)
                    size = PyBytes_GET_SIZE(entry)
                memcpy(at + offset, text, size)
                offset += <uint32_t>size
                row += 1
                offsets[row] = offset
            at += padded(self.dictionary_bytes)
        return at
