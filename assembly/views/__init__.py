"""Context assembly over HTTP."""
