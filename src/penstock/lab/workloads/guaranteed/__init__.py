"""Publishers and subscribers of the guaranteed service."""
