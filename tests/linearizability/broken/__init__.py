"""Applications for the servers under test: the real one with wide windows, and wrong ones that must be caught.

Each module is loaded by the server in place of `console.wsgi`.
"""
