"""Columns of messages as Arrow arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.content.rows.columns import AttributeType, Column


def column_array(column: Column) -> pa.Array:
    """A column with null where a row has no value."""
    absent = None if column.present is None else ~column.present
    dictionary = column.encoded_dictionary
    if dictionary is not None:
        kind = pa.string() if column.kind is AttributeType.STRING else pa.binary()
        buffers = [None, pa.py_buffer(dictionary.offsets), pa.py_buffer(dictionary.data)]
        values = pa.Array.from_buffers(kind, len(dictionary), buffers)
        return values.take(pa.array(column.values, mask=absent))
    if column.kind is AttributeType.BOOL:
        return pa.array(column.values.astype(np.bool_), mask=absent)
    return pa.array(column.values, mask=absent)
