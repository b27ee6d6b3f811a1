"""The broker process: event loop, connections, store and configuration."""
