"""PostgreSQL as Django's backend for it, and the binding to a workspace inside each transaction (PL-1)."""
