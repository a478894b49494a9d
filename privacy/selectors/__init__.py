"""Everything that governance reads, one file per noun."""
