"""Work queues, as the application sees them."""
