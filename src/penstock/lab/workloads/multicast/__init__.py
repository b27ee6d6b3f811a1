"""Senders and members of groups, in both worlds."""
