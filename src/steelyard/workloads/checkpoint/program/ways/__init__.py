"""How a unit is saved and restored: each file is a way."""
