"""The clients of a run, by service: their tables, and the same behaviour in both worlds."""
