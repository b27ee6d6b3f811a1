"""The deterministic world: virtual time, modelled links and disks."""
