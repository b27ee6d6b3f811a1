"""A process as a gossip peer."""
