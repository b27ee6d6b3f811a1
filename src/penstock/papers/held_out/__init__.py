"""Random cases that no law was tuned on, measured against an optimum that is computed by itself."""
