"""What applications of the queue service saw, and its judge."""
