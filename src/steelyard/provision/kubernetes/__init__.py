"""Pods that a cluster starts for a run, as the places of one indexed Job per role, and that end with it."""
