"""The telemetry lake: a stream of records as Parquet."""
