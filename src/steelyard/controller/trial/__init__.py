"""One trial, from its scratch directories to its record."""
