"""Reliable multicast to named groups, with cost-benefit flow control."""
