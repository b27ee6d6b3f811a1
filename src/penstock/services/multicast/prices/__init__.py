"""What links cost, and who is told."""
