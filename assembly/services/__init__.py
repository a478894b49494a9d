"""Writing the runtime graph and what was assembled from it."""
