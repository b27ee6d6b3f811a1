"""What a message carries and what a subscription asks for."""
