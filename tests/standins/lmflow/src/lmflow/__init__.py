"""Stand-in: never run, the entry stands in for the package."""

raise ImportError("heavy")
