"""Sweeps: simulations as Spark tasks."""
