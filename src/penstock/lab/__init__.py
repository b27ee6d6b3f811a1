"""Scenario files, the runner that executes them in either world, and measurements."""
