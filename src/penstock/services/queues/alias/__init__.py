"""An alias queue: rows from the producer's site to queues elsewhere."""
