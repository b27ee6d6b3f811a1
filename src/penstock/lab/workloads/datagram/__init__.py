"""Clients of the datagram service in scenarios, in both worlds."""
