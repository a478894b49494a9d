"""The project itself, and the pages for staff."""
