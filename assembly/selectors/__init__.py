"""Reading the runtime graph."""
