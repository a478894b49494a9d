"""Run Lastro on a PostgreSQL and a Valkey of its own, from wheels (PL-13); nothing here imports Django."""
