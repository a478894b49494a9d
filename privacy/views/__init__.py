"""The routes of governance, one file per noun."""
