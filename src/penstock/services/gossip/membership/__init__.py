"""The part of the group that a peer knows, and the group's size."""
