"""What applications of the guaranteed service saw, and its judge."""
