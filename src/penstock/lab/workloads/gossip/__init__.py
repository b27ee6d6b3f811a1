"""The peers of gossip groups, in both worlds."""
