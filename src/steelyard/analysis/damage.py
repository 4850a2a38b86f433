"""One error for whatever a damaged record holds in the place of what belongs there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from steelyard.errors import StoreError


@contextmanager
def guard_record(run: str) -> Iterator[None]:
    """Turn what odd content makes Python raise into a StoreError that names the run."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError) as error:
        what = f"{type(error).__name__}: {error}"[:200]
        hint = "if the record was not edited, this is a bug in Steelyard: please report it with this message"
        raise StoreError(f"the record of run {run} is invalid ({what})", hint=hint) from error
