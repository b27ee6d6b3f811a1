"""The segment log: files, framing, indexes and slices."""
