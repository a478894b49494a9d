"""Working memory and conversation history of AI agents (SD-1 to SD-11)."""
