"""Mechanisms that several services and drivers share: pure, with time as an argument."""
