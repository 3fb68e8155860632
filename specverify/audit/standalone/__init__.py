"""Stand-alone reproducers: scripts that show a finding with nothing of ours. Modules are imported by name."""
