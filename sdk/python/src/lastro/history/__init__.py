"""Conversation history: records, windows, guard, summaries and stores (HI-1 to HI-25)."""
