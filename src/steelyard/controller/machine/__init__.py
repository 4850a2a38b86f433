"""The machine on which a run measures: whose turn it is, whether it is fit, what disturbed it."""
