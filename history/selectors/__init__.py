"""Everything that reads history."""
