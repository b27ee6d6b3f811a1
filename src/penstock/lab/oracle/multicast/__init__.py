"""What senders and members of groups saw, and its judge."""
