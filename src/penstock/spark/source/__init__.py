"""The Spark data source ``penstock``: streaming and batch reads."""
