"""What touches every message, compiled.

Each module does what a module of ``penstock.content`` does in Python, byte for byte;
``tests/content/test_speedups.py`` holds both against each other.
"""
