"""What every protocol stands on: time, randomness, the machine contract, tick intervals, traces."""
