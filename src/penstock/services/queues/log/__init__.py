"""The journal of a queue or an alias queue, and the rows and notes that are written to it."""
