"""Runs, and levels of one run, set against each other or against a published result."""
