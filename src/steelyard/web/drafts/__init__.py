"""Experiments that are written on a page: checked as one types, filled in by a form, saved, started."""
