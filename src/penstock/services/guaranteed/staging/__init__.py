"""Rows that are durable before they are published, all or none."""
