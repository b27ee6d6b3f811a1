"""The parts of Penstock that touch every message, compiled.

Each module does what a module of ``penstock.content`` does in Python, byte for byte;
``tests/content/rows/test_speedups.py`` compares both.
"""
