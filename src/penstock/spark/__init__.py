"""The data pipeline: Spark source and sink, telemetry lake, sweeps."""
