"""The papers' experiments, on top of the laboratory."""
