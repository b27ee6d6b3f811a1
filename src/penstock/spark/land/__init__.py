"""Keeps a Delta table of the messages that match a selector: ``penstock land``."""
