"""Plan, run, events, verdict. Modules are imported by name; the face stays light."""
