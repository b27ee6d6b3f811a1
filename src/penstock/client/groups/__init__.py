"""Named groups, as the application sees them."""
