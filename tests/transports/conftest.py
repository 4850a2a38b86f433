"""A run of the test's own, of which nothing stays."""

from token_run import alive, run

__all__ = ["alive", "run"]
