"""Small mechanisms that several services and drivers share: one of each."""
