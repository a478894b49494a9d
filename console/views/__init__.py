"""The pages of the staff console: each parses, makes one call and renders."""
