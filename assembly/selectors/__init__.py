"""Everything that reads the runtime graph."""
