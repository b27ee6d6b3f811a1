"""The experiments of the cost-benefit paper (multicast)."""
