"""Everything that writes the runtime graph."""
