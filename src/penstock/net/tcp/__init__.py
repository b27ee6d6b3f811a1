"""Connections: messages in and out over TCP streams."""
