"""Where streams end: subscriptions, durable positions, recovery."""
