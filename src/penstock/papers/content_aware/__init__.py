"""The experiments of the content-aware paper (datagram)."""
