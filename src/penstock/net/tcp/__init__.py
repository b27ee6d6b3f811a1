"""Connections: sending and receiving messages over TCP."""
