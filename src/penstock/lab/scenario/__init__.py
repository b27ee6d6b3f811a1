"""Scenario files: their content and how they are read."""
