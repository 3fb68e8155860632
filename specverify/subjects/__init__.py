"""Declare, load and isolate subjects. The tool's side is imported by name; this face stays importable everywhere."""
