"""What a broker keeps to forward datagrams by content."""
