"""Bloom encodings of selectors and messages."""
