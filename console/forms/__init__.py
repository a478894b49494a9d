"""The forms of the console, by the noun of their pages: shape only."""
