"""Reports on the telemetry lake."""
