"""What an assembly looks like: items as data, and messages of four providers that keep their rules (CA-19)."""
