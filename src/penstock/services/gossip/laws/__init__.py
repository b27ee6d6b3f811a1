"""How fast a peer may publish, as numbers."""
