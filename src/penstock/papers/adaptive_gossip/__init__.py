"""The experiments of the adaptive gossip paper (gossip)."""
