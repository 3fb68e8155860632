"""Stand-in: the package."""
