"""Conversations of every provider, made up: a branch in memory, and generators for property tests."""
