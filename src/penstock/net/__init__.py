"""Runs brokers on real processes, sockets and disks."""
