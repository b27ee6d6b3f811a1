"""The deterministic simulator: virtual time, modelled links and disks."""
