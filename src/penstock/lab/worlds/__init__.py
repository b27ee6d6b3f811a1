"""The two worlds that run a scenario."""
