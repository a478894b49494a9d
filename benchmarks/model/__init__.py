"""`make model`: what each part of the server takes for an operation, and what queueing makes of that (PL-14)."""
