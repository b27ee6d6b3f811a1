"""Selectors: text, syntax tree and meaning."""
