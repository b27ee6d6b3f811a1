"""The journal of a queue or an alias queue, and what is written to it."""
