"""Commands that run and look after brokers."""
