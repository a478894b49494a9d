"""Everything that governance writes, one file per noun."""
