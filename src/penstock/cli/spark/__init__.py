"""Commands of the data pipeline: the lake, tables, reports and sweeps."""
