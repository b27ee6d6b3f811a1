"""Where a stream begins: pubends, their publishers and their logs."""
