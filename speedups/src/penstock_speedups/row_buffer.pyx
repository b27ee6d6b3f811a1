# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Rows that become the bytes of a block while they are added.

The bytes are those of ``penstock.content.rows.batch.Batch.from_rows(rows).encode()`` for the same
rows, without a dictionary, a tuple or an array for each row in between.

1. A column is found by the place that its attribute had in the last row, or by name and type.
2. ``growing_column`` keeps the values of a column.
3. A row is checked as a whole before any of it is kept.  A row that the buffer refuses, because the
   buffer is full, because no block can carry the row, or because it is not made of plain types,
   leaves the buffer as it was.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next, PyDict_Size
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from xxhash import xxh3_64_intdigest

from penstock_speedups.block_layout cimport *
from penstock_speedups.growing_column cimport GrowingColumn
from penstock_speedups.regions cimport descriptors_bytes, offsets_bytes, padded, payloads_bytes

cdef extern from "Python.h":
    bint PyUnicode_CheckExact(object)
    bint PyLong_CheckExact(object)
    bint PyFloat_CheckExact(object)
    bint PyBool_Check(object)
    bint PyBytes_CheckExact(object)
    bint PyDict_CheckExact(object)
    bint PyUnicode_IS_COMPACT_ASCII(object)
    const char *PyUnicode_AsUTF8AndSize(object, Py_ssize_t *) except NULL
    long long PyLong_AsLongLongAndOverflow(object, int *) except? -1
    double PyFloat_AS_DOUBLE(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)

# Half of what offsets can reach: fillers, offsets and padding cannot double a block.
cdef Py_ssize_t MAX_WEIGHT = 1 << 30


class _Unusual(Exception):
    """A row that this buffer does not take; Python handles it."""


def _order(GrowingColumn column):
    return column.name, column.kind


cdef class RowBuffer:
    """Rows, kept as the columns that they will become."""

    cdef list columns
    cdef dict by_name
    cdef list last
    cdef list chosen
    cdef int64_t *bits
    cdef Py_ssize_t bits_capacity
    cdef list payloads
    cdef Py_ssize_t payload_bytes, rows, block_weight
    cdef Py_ssize_t full_rows, full_bytes
    cdef readonly Py_ssize_t weight

    def __cinit__(self, Py_ssize_t full_rows, Py_ssize_t full_bytes):
        self.full_rows = full_rows
        self.full_bytes = full_bytes
        self.block_weight = 0
        self.columns = []
        self.by_name = {}
        self.last = []
        self.chosen = []
        self.bits = NULL
        self.bits_capacity = 0
        self.payloads = []
        self.payload_bytes = 0
        self.rows = 0
        self.weight = 0

    def __dealloc__(self):
        PyMem_RawFree(self.bits)

    def __len__(self):
        return self.rows

    @property
    def is_full(self):
        """Whether no other row goes in, however small."""
        return self.rows >= self.full_rows or self.weight >= self.full_bytes

    def offer(self, attributes, payload):
        """Keep a row and return its weight; return 0 if the buffer does not take it."""
        cdef Py_ssize_t weight, block_weight, place, size
        cdef GrowingColumn column
        if not PyBytes_CheckExact(payload) or not PyDict_CheckExact(attributes):
            return 0
        size = PyBytes_GET_SIZE(payload)
        weight = size + ROW_BYTES
        if self.rows and (self.rows >= self.full_rows or self.weight + weight > self.full_bytes):
            return 0
        block_weight = self.block_weight + size
        if block_weight > MAX_WEIGHT:
            return 0
        try:
            block_weight = self._look_at(<dict>attributes, block_weight)
        except _Unusual:
            # The columns chosen before the fault was found are not those of the last row.
            self.last.clear()
            self.chosen.clear()
            return 0
        # Allocations come first: a MemoryError must not leave half a row behind.
        for item in self.last:
            (<GrowingColumn>item).reserve(self.rows + 1)
        place = 0
        for item in self.last:
            column = <GrowingColumn>item
            column.put(self.rows, self.chosen[place], self.bits[place])
            place += 1
        self.payloads.append(payload)
        self.payload_bytes += size
        self.rows += 1
        self.block_weight = block_weight
        self.weight += weight
        return weight

    cdef Py_ssize_t _look_at(self, dict attributes, Py_ssize_t weight) except -1:
        """Choose a column for each value and check that the column can hold it.

        Returns the weight of the buffer with this row.
        """
        cdef Py_ssize_t position = 0, place = 0, size, count = PyDict_Size(attributes)
        cdef PyObject *key_at
        cdef PyObject *value_at
        cdef object key, value
        cdef int kind, overflow
        cdef double number
        cdef list last = self.last
        cdef list chosen = self.chosen
        cdef void *grown
        if count > self.bits_capacity:
            grown = PyMem_RawRealloc(self.bits, count * sizeof(int64_t))
            if grown == NULL:
                raise MemoryError()
            self.bits = <int64_t *>grown
            self.bits_capacity = count
        while PyDict_Next(attributes, &position, &key_at, &value_at):
            key = <object>key_at
            value = <object>value_at
            # A name of another type could run its own code and change the dictionary meanwhile.
            if not PyUnicode_CheckExact(key) or place >= self.bits_capacity:
                raise _Unusual
            if PyUnicode_CheckExact(value):
                kind = STRING
                # UTF-8 needs at most four bytes for a character.
                weight += 4 * PyUnicode_GET_LENGTH(value)
                if not PyUnicode_IS_COMPACT_ASCII(value):
                    try:
                        PyUnicode_AsUTF8AndSize(value, &size)
                    except UnicodeEncodeError:
                        raise _Unusual from None
            elif value is None:
                if self.by_name.get(key) is None:
                    self._new_name(key)
                continue
            elif PyLong_CheckExact(value):
                kind = INT
                overflow = 0
                self.bits[place] = PyLong_AsLongLongAndOverflow(value, &overflow)
                if overflow:
                    raise _Unusual
            elif PyFloat_CheckExact(value):
                kind = FLOAT
                number = PyFloat_AS_DOUBLE(value)
                memcpy(&self.bits[place], &number, 8)
            elif PyBool_Check(value):
                kind = BOOL
                self.bits[place] = 1 if value is True else 0
            elif PyBytes_CheckExact(value):
                kind = BYTES
                weight += PyBytes_GET_SIZE(value)
            else:
                raise _Unusual
            weight += 16
            if weight > MAX_WEIGHT:
                raise _Unusual
            if place < len(last):
                if (<GrowingColumn>last[place]).name is not key or (<GrowingColumn>last[place]).kind != kind:
                    last[place] = self._column(key, kind)
                chosen[place] = value
            else:
                last.append(self._column(key, kind))
                chosen.append(value)
            place += 1
        if place < len(last):
            del last[place:]
            del chosen[place:]
        return weight

    cdef GrowingColumn _column(self, object name, int kind):
        cdef dict kinds
        cdef GrowingColumn column
        found = self.by_name.get(name)
        kinds = <dict>found if found is not None else self._new_name(name)
        made = kinds.get(kind)
        if made is None:
            if len(self.columns) >= MAX_COLUMNS:
                raise _Unusual
            column = GrowingColumn(name, (<str>name).encode(), kind)
            kinds[kind] = column
            self.columns.append(column)
            return column
        return <GrowingColumn>made

    cdef dict _new_name(self, object name):
        cdef Py_ssize_t size
        cdef dict kinds
        try:
            PyUnicode_AsUTF8AndSize(name, &size)
        except UnicodeEncodeError:
            raise _Unusual from None
        if size > MAX_NAME_BYTES:
            raise _Unusual
        kinds = {}
        self.by_name[name] = kinds
        return kinds

    def block(self):
        """The bytes of the batch."""
        cdef Py_ssize_t rows = self.rows, names = 0, names_at, columns_at, total
        cdef GrowingColumn column
        cdef list columns = []
        cdef bytes made
        cdef char *start
        cdef char *at
        cdef char *name_at
        cdef uint64_t checksum
        for item in self.columns:
            column = <GrowingColumn>item
            if column.holds_some:
                column.fill(rows)
                columns.append(column)
                names += len(column.raw_name)
        columns.sort(key=_order)
        names_at = HEADER_BYTES + descriptors_bytes(len(columns))
        columns_at = names_at + padded(names)
        total = columns_at + payloads_bytes(rows, self.payload_bytes)
        for item in columns:
            total += (<GrowingColumn>item).size(rows)
        made = PyBytes_FromStringAndSize(NULL, total)
        start = PyBytes_AS_STRING(made)
        memset(start, 0, total - padded(self.payload_bytes))
        (<uint16_t *>(start + HEADER_VERSION_AT))[0] = BLOCK_VERSION
        (<uint16_t *>(start + HEADER_COLUMNS_AT))[0] = <uint16_t>len(columns)
        (<uint32_t *>(start + HEADER_ROWS_AT))[0] = <uint32_t>rows
        (<uint32_t *>(start + HEADER_PAYLOAD_BYTES_AT))[0] = <uint32_t>self.payload_bytes
        at = start + HEADER_BYTES
        name_at = start + names_at
        for item in columns:
            column = <GrowingColumn>item
            column.describe(at)
            at += DESCRIPTOR_BYTES
            memcpy(name_at, PyBytes_AS_STRING(column.raw_name), len(column.raw_name))
            name_at += len(column.raw_name)
        at = start + columns_at
        for item in columns:
            at = (<GrowingColumn>item).write(at, rows)
        self._write_payloads(at)
        checksum = xxh3_64_intdigest(memoryview(made)[CHECKSUM_BYTES:])
        memcpy(start + HEADER_CHECKSUM_AT, &checksum, CHECKSUM_BYTES)
        return made

    cdef void _write_payloads(self, char *at):
        """Copy each payload once, here: until now the buffer held only references to bytes."""
        cdef char *data = at + offsets_bytes(self.rows)
        cdef uint32_t end = 0
        cdef Py_ssize_t size
        for payload in self.payloads:
            size = PyBytes_GET_SIZE(payload)
            memcpy(data + end, PyBytes_AS_STRING(payload), size)
            end += <uint32_t>size
            at += OFFSET_BYTES
            memcpy(at, &end, OFFSET_BYTES)
        memset(data + end, 0, padded(end) - end)
