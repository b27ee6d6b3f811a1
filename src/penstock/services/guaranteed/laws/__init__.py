"""The numbers of congestion control: rate laws, windows and their parameters."""
