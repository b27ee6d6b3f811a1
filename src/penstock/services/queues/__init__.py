"""Work queues and alias queues: store-and-forward between sites, balanced by flow control."""
