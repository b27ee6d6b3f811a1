"""The experiments of the alias queue paper (queues)."""
