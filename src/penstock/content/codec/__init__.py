"""Messages as bytes, on streams and in datagrams."""
