"""Experiments as data: kinds of runs, rows of a table with their bars, figures, and their runner."""
