"""Governance over HTTP, one file per noun."""
