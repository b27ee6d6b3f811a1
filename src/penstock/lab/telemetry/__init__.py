"""What is measured in a run."""
