"""What the applications at gossip peers saw, and whether it keeps the promises of the service."""
