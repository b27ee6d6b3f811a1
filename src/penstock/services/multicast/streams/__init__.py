"""Messages on their way from senders to brokers with members."""
