"""A run seen in a terminal while it goes on: its state, the newest samples of its trial, the picture."""
