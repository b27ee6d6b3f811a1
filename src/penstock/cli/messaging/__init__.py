"""Commands that publish, subscribe, send and receive."""
