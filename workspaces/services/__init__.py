"""Everything that writes to the ground floor, one file per noun."""
