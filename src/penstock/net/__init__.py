"""The real world: processes, sockets and disks."""
