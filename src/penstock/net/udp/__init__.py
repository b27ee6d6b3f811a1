"""Datagrams over UDP sockets."""
