"""Made-up worlds whose truth is known: distributions that repetitions are drawn from, always with a seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Rows = list[list[float]]
Drawn = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """A distribution of repetitions: `draw(rng, (samples, n))`, and its true median and mean."""

    name: str
    draw: Callable[[np.random.Generator, tuple[int, int]], Drawn]
    median: float
    mean: float = math.nan

    def rows(self, seed: int, samples: int, n: int) -> Rows:
        """The name is part of the seed, or ranks would see the same normal and lognormal samples."""
        rng = np.random.default_rng([seed, n, crc32(self.name.encode())])
        rows: Any = self.draw(rng, (samples, n)).tolist()
        return list(rows)

    @property
    def kind(self) -> str:
        """`normal`, `lognormal`, `bimodal` …"""
        return self.name.partition(" ")[0]

    def __str__(self) -> str:
        return self.name


def normal(sd: float) -> World:
    """Around 100, so that `sd` is in per cent."""
    return World(f"normal sd {sd:g}", lambda rng, shape: rng.normal(100, sd, shape), 100, 100)


def lognormal(sigma: float) -> World:
    """`sigma` is about the relative standard deviation."""
    mean = 100 * math.exp(sigma**2 / 2)
    name = f"lognormal sigma {sigma:g}"
    return World(name, lambda rng, shape: 100 * rng.lognormal(0, sigma, shape), 100, mean)


def bimodal(first: float, apart: float, sd: float) -> World:
    """A share `first` of all values around 100, the rest `apart` per cent above; `sd` in per cent in each."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Drawn:
        return np.where(rng.random(shape) < first, 100, 100 + apart) + rng.normal(0, sd, shape)

    low, high = NormalDist(100, sd), NormalDist(100 + apart, sd)
    below, above = 100.0 - 10 * sd, 100 + apart + 10 * sd
    for _ in range(100):
        middle = (below + above) / 2
        under = first * low.cdf(middle) + (1 - first) * high.cdf(middle)
        below, above = (middle, above) if under < 0.5 else (below, middle)
    name = f"bimodal {100 * first:.0f}:{100 * (1 - first):.0f}, {apart:g} % apart, sd {sd:g}"
    return World(name, draw, below, 100 + (1 - first) * apart)


def autocorrelated(phi: float) -> World:
    """Normal with sd 3; each repetition keeps the share phi of its predecessor's deviation."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Drawn:
        noise = rng.normal(0, 3, shape)
        for i in range(1, shape[1]):
            noise[:, i] = phi * noise[:, i - 1] + math.sqrt(1 - phi**2) * noise[:, i]
        return 100 + noise

    return World(f"lag-1 {phi}", draw, 100, 100)


def spiked(height: float) -> World:
    """Normal with sd 3, and one value that lies `height` above, anywhere."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Drawn:
        values = rng.normal(100, 3, shape)
        values[np.arange(shape[0]), rng.integers(shape[1], size=shape[0])] += height
        return values

    return World(f"spike of {height:g}, sd 3", draw, 100)


def drifting(rise: float) -> World:
    """Normal with sd 3, and rising by so much from the first value to the last."""
    name = f"drift by {rise:g}, sd 3"
    return World(name, lambda rng, shape: rng.normal(100, 3, shape) + np.linspace(0, rise, shape[1]), 100)


NORMAL, LOGNORMAL, BIMODAL = normal(3), lognormal(0.5), bimodal(0.7, 15, 2)
EXPONENTIAL = World("exponential", lambda rng, shape: 95 + 5 * rng.exponential(1 / math.log(2), shape), 100)
ROUNDED = World("rounded", lambda rng, shape: np.round(rng.normal(100, 3, shape)), 100)
WORLDS = (NORMAL, LOGNORMAL, BIMODAL)
