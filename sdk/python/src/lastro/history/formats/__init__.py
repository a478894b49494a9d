"""One module per provider format: its calls, results, instructions and turns, and how a summary looks in it."""
