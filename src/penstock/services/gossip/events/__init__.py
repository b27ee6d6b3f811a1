"""The events that a peer keeps, knows and has received."""
