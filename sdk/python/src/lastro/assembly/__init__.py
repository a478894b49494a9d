"""Context assembly: what the next request of a model carries of the runtime graph, and why (CA-1 to CA-19)."""
