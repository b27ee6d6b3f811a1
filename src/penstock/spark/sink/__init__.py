"""The Spark sink ``penstock``: each micro-batch once."""
