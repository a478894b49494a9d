"""What others use to keep an agent's state, each as its own documentation recommends, in process.

They run in an environment of their own (`requirements/bench.txt`) that knows nothing of the server.
"""
