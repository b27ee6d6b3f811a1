"""The subscriber's half of the congestion control."""
