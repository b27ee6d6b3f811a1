"""The base of every protocol: time, randomness, the machine contract, intervals, traces, limits."""
