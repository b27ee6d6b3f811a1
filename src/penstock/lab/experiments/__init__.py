"""Experiments as data: kinds of runs, rows of a table with bars, figures, and their runner."""
