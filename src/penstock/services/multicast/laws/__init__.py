"""Prices of links and accounts of senders, as numbers."""
