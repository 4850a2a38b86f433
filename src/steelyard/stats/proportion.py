"""The interval of a share: so many of so many."""

from __future__ import annotations

from steelyard.stats.beta import beta_quantile
from steelyard.stats.interval import Interval
from steelyard.stats.sample import check_confidence


def clopper_pearson(hits: int, of: int, *, confidence: float = 0.95) -> Interval:
    """The exact interval of the probability behind `hits` out of `of` independent attempts (ratios 0 … 1).

    It holds the probability with at least `confidence` whatever that is, also at 0 hits, where it tells how
    large the share may still be (3.6 % after 0 of 100). It is wider than Wilson's, which covers less than it
    promises for some shares near 0: just where failures are rare. Attempts that fail together make both too
    narrow.

    Source: Clopper & Pearson, The Use of Confidence or Fiducial Limits Illustrated in the Case of the
    Binomial, Biometrika 26 (1934). Raises ValueError unless 0 <= hits <= of and of > 0.
    """
    check_confidence(confidence)
    if of < 1 or not 0 <= hits <= of:
        raise ValueError(f"{hits} of {of} is not a share")
    tail = (1 - confidence) / 2
    low = beta_quantile(hits, of - hits + 1, tail) if hits else 0.0
    high = beta_quantile(hits + 1, of - hits, 1 - tail) if hits < of else 1.0
    return Interval(low, high, confidence, "clopper-pearson")
