"""Tables in the open format Delta, written exactly once."""
