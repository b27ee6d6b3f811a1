"""Producers and consumers of the queue service."""
