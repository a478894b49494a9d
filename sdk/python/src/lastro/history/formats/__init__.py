"""One module per provider format: what is a call, a result, an instruction, a turn's beginning, and how a summary looks."""
