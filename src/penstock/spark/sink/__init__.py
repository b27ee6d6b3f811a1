"""The Spark sink ``penstock``: publishes each micro-batch exactly once."""
