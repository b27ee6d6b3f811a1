"""Telemetry and measurements of a run."""
