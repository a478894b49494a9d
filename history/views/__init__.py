"""History over HTTP (HI-21)."""
