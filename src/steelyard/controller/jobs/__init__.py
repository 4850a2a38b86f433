"""Runs that take place in the jobs of a batch scheduler."""
