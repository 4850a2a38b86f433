"""Machines that are rented for a run, and given back after it."""
