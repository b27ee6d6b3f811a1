"""The delivery services: each a folder of its own, listed in ``registry.py``."""
