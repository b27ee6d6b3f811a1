"""Who is in which group, and the way to the members."""
