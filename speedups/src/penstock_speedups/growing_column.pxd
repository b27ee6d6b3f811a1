from libc.stdint cimport int64_t, uint8_t


cdef class GrowingColumn:
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

    cdef int reserve(self, Py_ssize_t rows) except -1
    cdef int fill(self, Py_ssize_t rows) except -1
    cdef int64_t code_of(self, object value) except -1
    cdef int put(self, Py_ssize_t row, object value, int64_t bits) except -1
    cdef Py_ssize_t size(self, Py_ssize_t rows)
    cdef void describe(self, char *at)
    cdef char *write(self, char *at, Py_ssize_t rows) except NULL
