"""Stand-in: the loops."""
