"""How streams pass through a broker: forwarding, caching, registration."""
