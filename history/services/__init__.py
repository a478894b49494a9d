"""Everything that writes history."""
