"""A queue: rows from the disk to consumers."""
