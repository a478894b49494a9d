"""The stores that run in an agent's own process (HI-4)."""
