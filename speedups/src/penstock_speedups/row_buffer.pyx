# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Rows that become the bytes of a block while they are added.

The bytes are those of ``penstock.content.rows.batch.Batch.from_rows(rows).encode()`` for the same rows
(``penstock/content/rows/block.py`` describes them), without a dictionary, a tuple or an array for each
row in between.

1. A column is found by the place that its attribute had in the last row, or by name and type.
2. Values are kept in eight bytes each and narrowed at the end; strings and byte strings as codes.
3. A row that lacks a column's attribute gets a filler when the next value comes, or at the end, so
   that dictionaries come out in the order of first appearance, fillers included.
4. A row is looked at as a whole before anything of it is kept: one that does not go in, because the
   buffer is full, because no block can carry it, or because it is not made of plain types, leaves
   the buffer as it was.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem, PyDict_Next, PyDict_Size
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

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

from xxhash import xxh3_64_intdigest

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

cdef enum:
    MAX_NAME_BYTES = 65535
    MAX_COLUMNS = 65535
    FIRST_ROWS = 64
    ROW_BYTES = 64

# Half of what offsets can reach: fillers, offsets and padding cannot double a block.
cdef Py_ssize_t MAX_WEIGHT = 1 << 30


class _Unusual(Exception):
    """This row does not go in."""


cdef class _Column:
    cdef str name
    cdef bytes raw_name
    cdef int kind
    cdef int64_t *values
    cdef uint8_t *present
    cdef Py_ssize_t count, capacity
    cdef bint holds_some
    cdef list entries
    cdef dict codes
    cdef object last_value
    cdef int64_t last_code
    cdef Py_ssize_t dictionary_bytes

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
        """Rows that lack the attribute, up to this number of rows."""
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
        """A value for a row behind all others."""
        if self.count < row:
            self.fill(row)
        if self.kind == STRING or self.kind == BYTES:
            bits = self.code_of(value)
        self.values[row] = bits
        if self.present != NULL:
            self.present[row] = 1
        self.count = row + 1
        self.holds_some = True
        return 0

    cdef Py_ssize_t code_bytes(self):
        cdef Py_ssize_t entries = len(self.entries)
        if self.kind == BOOL:
            return 1
        if self.kind == INT or self.kind == FLOAT:
            return 8
        return 1 if entries <= 1 << 8 else 2 if entries <= 1 << 16 else 4

    cdef Py_ssize_t size(self, Py_ssize_t rows):
        cdef Py_ssize_t total = padded(rows * self.code_bytes())
        if self.present != NULL:
            total += padded((rows + 7) // 8)
        if self.kind == STRING or self.kind == BYTES:
            total += padded(4 * (len(self.entries) + 1)) + padded(self.dictionary_bytes)
        return total

    cdef char *write(self, char *at, Py_ssize_t rows) except NULL:
        """The column's regions; the padding is zero already."""
        cdef Py_ssize_t row, size, width = self.code_bytes()
        cdef uint32_t offset = 0
        cdef const char *text
        cdef uint32_t *offsets
        if self.present != NULL:
            for row in range(rows):
                if self.present[row]:
                    (<uint8_t *>at)[row >> 3] |= <uint8_t>(1 << (row & 7))
            at += padded((rows + 7) // 8)
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
        if self.kind == STRING or self.kind == BYTES:
            offsets = <uint32_t *>at
            at += padded(4 * (len(self.entries) + 1))
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


def _order(_Column column):
    return column.name, column.kind


cdef class RowBuffer:
    """Rows, as the columns that they will be."""

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
        """Keep a row; what it weighs, or 0 if it does not go in."""
        cdef Py_ssize_t weight, block_weight, place, size
        cdef _Column column
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
            # What was chosen before the fault was found is not what the last row had.
            self.last.clear()
            self.chosen.clear()
            return 0
        # Whatever may fail for want of memory comes first.
        for item in self.last:
            (<_Column>item).reserve(self.rows + 1)
        place = 0
        for item in self.last:
            column = <_Column>item
            column.put(self.rows, self.chosen[place], self.bits[place])
            place += 1
        self.payloads.append(payload)
        self.payload_bytes += size
        self.rows += 1
        self.block_weight = block_weight
        self.weight += weight
        return weight

    cdef Py_ssize_t _look_at(self, dict attributes, Py_ssize_t weight) except -1:
        """Choose a column for each value, and check that it can be kept there."""
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
            # A name of another type could run code of its own, and change what is looked at.
            if not PyUnicode_CheckExact(key) or place >= self.bits_capacity:
                raise _Unusual
            if PyUnicode_CheckExact(value):
                kind = STRING
                # Four bytes for a character is the most that UTF-8 needs.
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
                if (<_Column>last[place]).name is not key or (<_Column>last[place]).kind != kind:
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

    cdef _Column _column(self, object name, int kind):
        cdef dict kinds
        cdef _Column column
        found = self.by_name.get(name)
        kinds = <dict>found if found is not None else self._new_name(name)
        made = kinds.get(kind)
        if made is None:
            if len(self.columns) >= MAX_COLUMNS:
                raise _Unusual
            column = _Column(name, (<str>name).encode(), kind)
            kinds[kind] = column
            self.columns.append(column)
            return column
        return <_Column>made

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
        cdef Py_ssize_t rows = self.rows, names = 0, total
        cdef _Column column
        cdef list columns = []
        cdef bytes made
        cdef char *start
        cdef char *at
        cdef char *name_at
        cdef uint64_t checksum
        for item in self.columns:
            column = <_Column>item
            if column.holds_some:
                column.fill(rows)
                columns.append(column)
                names += len(column.raw_name)
        columns.sort(key=_order)
        total = HEADER_BYTES + padded(DESCRIPTOR_BYTES * len(columns)) + padded(names)
        for item in columns:
            total += (<_Column>item).size(rows)
        total += padded(4 * (rows + 1)) + padded(self.payload_bytes)
        made = PyBytes_FromStringAndSize(NULL, total)
        start = PyBytes_AS_STRING(made)
        memset(start, 0, total - padded(self.payload_bytes))
        (<uint16_t *>(start + 8))[0] = BLOCK_VERSION
        (<uint16_t *>(start + 10))[0] = <uint16_t>len(columns)
        (<uint32_t *>(start + 12))[0] = <uint32_t>rows
        (<uint32_t *>(start + 16))[0] = <uint32_t>self.payload_bytes
        at = start + HEADER_BYTES
        name_at = at + padded(DESCRIPTOR_BYTES * len(columns))
        for item in columns:
            column = <_Column>item
            self._describe(column, at)
            at += DESCRIPTOR_BYTES
            memcpy(name_at, PyBytes_AS_STRING(column.raw_name), len(column.raw_name))
            name_at += len(column.raw_name)
        at = start + HEADER_BYTES + padded(DESCRIPTOR_BYTES * len(columns)) + padded(names)
        for item in columns:
            at = (<_Column>item).write(at, rows)
        self._write_payloads(at)
        checksum = xxh3_64_intdigest(memoryview(made)[8:])
        memcpy(start, &checksum, 8)
        return made

    cdef void _write_payloads(self, char *at):
        """Each is copied once, here: until then it is the caller's, who cannot change it."""
        cdef char *data = at + padded(4 * (self.rows + 1))
        cdef uint32_t end = 0
        cdef Py_ssize_t size
        for payload in self.payloads:
            size = PyBytes_GET_SIZE(payload)
            memcpy(data + end, PyBytes_AS_STRING(payload), size)
            end += <uint32_t>size
            at += 4
            memcpy(at, &end, 4)
        memset(data + end, 0, padded(end) - end)

    cdef void _describe(self, _Column column, char *at):
        cdef uint16_t length = <uint16_t>len(column.raw_name)
        cdef uint32_t entries = <uint32_t>len(column.entries)
        cdef uint32_t size = <uint32_t>column.dictionary_bytes
        memcpy(at, &length, 2)
        at[2] = <char>column.kind
        at[3] = HAS_PRESENCE if column.present != NULL else 0
        memcpy(at + 4, &entries, 4)
        memcpy(at + 8, &size, 4)
