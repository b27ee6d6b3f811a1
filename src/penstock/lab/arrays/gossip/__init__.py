"""Gossip groups as arrays with one row for each peer."""
