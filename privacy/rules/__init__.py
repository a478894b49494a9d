"""What governance decides, without Django."""
