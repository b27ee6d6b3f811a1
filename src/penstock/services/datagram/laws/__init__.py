"""The rates of content flows, as numbers."""
