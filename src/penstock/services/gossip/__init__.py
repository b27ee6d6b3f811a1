"""Broadcast among peers without a broker, whose senders adapt to the poorest buffer."""
