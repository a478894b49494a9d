"""The floor of the server: hello world in plain Django, and an empty view of REST framework."""
