"""The flow control of the multicast service as arrays."""
