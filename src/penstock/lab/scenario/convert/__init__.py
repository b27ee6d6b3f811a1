"""Converts scenario files of the six former forms; each form has one module."""
