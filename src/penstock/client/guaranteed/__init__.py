"""Subscriptions and sinks of the guaranteed service."""
