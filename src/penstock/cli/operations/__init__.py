"""Commands that run and operate brokers."""
