"""A run seen while it goes on: its state by its journal, and the newest samples of its trial."""
