"""Lets Spark find the data source ``penstock`` by itself.

Spark looks for importable top-level modules named ``pyspark_*`` with a class ``DefaultSource``.
"""

from __future__ import annotations

from penstock.spark.source.data_source import PenstockSource as DefaultSource

__all__ = ["DefaultSource"]
