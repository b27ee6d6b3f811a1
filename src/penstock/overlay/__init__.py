"""The graph of brokers: link state, routing trees, and the node that composes the services."""
