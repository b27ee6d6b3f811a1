# How the bytes of a block lie (penstock/content/rows/block.py), for both modules that look at them.

cdef enum:
    STRING = 1
    INT = 2
    FLOAT = 3
    BOOL = 4
    BYTES = 5
    HEADER_BYTES = 24
    DESCRIPTOR_BYTES = 12
    BLOCK_VERSION = 1
    HAS_PRESENCE = 1


cdef inline Py_ssize_t padded(Py_ssize_t length) noexcept:
    return (length + 7) & ~<Py_ssize_t>7
