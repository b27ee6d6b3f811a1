"""Many selectors at once: normal forms, covering and the index."""
