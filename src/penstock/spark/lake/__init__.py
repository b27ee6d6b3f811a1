"""The telemetry lake: telemetry records as Parquet files."""
