"""Figures in the order in which they were measured: whether they drift, and where they change their level."""
