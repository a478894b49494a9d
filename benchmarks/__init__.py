"""`make bench`: our endpoints, the floors and the peers on the same work, side by side in one run (PF)."""
