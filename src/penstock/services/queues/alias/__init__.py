"""An alias queue: rows from the producer's broker to queues elsewhere."""
