"""The publisher's half of the congestion control."""
