"""Simulations as Spark tasks."""
