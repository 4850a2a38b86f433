"""`use: hs`: a score of a core from several compute kernels."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import geometric_mean
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from steelyard.plugin import Command, Duration, Metric, Output, ParseFailure, Place, Reading
from steelyard.plugin.workload import Workload, WorkloadOptions
from steelyard.workloads.hs.kernels import KERNELS, OPENSSL, SEVEN_ZIP, STRESS_NG, SYSBENCH

_REFERENCE = Path(__file__).with_name("reference.json")
_SEVEN_ZIP_SECONDS = 6.0  # of its one pass, about; it takes no time to run for


def _check_kernels(value: tuple[str, ...]) -> tuple[str, ...]:
    for name in value:
        if name not in KERNELS:
            raise ValueError(f"'{name}' is not a kernel; kernels are {', '.join(KERNELS)}")
    if not value or len(set(value)) != len(value):
        raise ValueError("give at least one kernel, each only once")
    return value


class HsOptions(WorkloadOptions):
    """For how long, and which kernels."""

    duration: Duration = Field(
        Duration(10),
        description="How long each kernel runs, in whole seconds; lzma instead does one pass of about 6 s.",
    )
    kernels: Annotated[tuple[str, ...], AfterValidator(_check_kernels)] = Field(
        tuple(KERNELS),
        description=f"Any of {', '.join(KERNELS)}. Scores of different sets cannot be compared.",
    )

    @model_validator(mode="after")
    def _check_duration(self) -> Self:
        if self.duration % 1 or not 1 <= self.duration <= 3600:
            raise ValueError(f"duration: {self.duration} is not a whole number of seconds from 1 to 3600")
        return self


class Hs(Workload[HsOptions]):
    """A score of a core, calculated like HEPSpec06: the geometric mean of ratios. It is NOT HS06 or HS23.

    **Measures** how fast a core runs eight kernels, one after the other, each against a reference core:
    `<kernel>` is the ratio, `score` their geometric mean. The reference core scores 1.

    **Source**: the scoring method is that of HEPSpec06, as described in "Benchmarking of public and local
    cloud resources", Fermilab, 2015. SPEC's programs are licensed and are not used. The kernels come from
    sysbench, stress-ng, openssl and 7-Zip. The Steelyard authors measured the reference figures, on the CPU
    and with the versions given in `reference.json`.

    **How to read it.** Compare scores of this workload only with each other: between machines, and one core
    against all (`copies: cores`, where scores add up). There is no conversion factor to HS06 or HS23. The
    tools' versions matter: stress-ng's operations change between releases, and openssl and 7-Zip become
    faster; the record has the versions of each host. Kernels fit into the caches, so a machine with little
    memory bandwidth looks better here than in real work.
    """

    Options = HsOptions
    needs = (SYSBENCH, STRESS_NG, OPENSSL, SEVEN_ZIP)
    covers = ("FNAL.2", "FNAL.4")
    examples = (
        {"duration": "1s", "kernels": ["primes"]},
        {"duration": "1s", "kernels": ["matrixprod", "sha512", "rsa2048"]},
        {"duration": "1s", "kernels": ["fft", "correlate", "queens"]},
        {"duration": "1s", "kernels": ["lzma"]},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """The score, and each kernel's ratio."""
        score = Metric(
            "score", "1", "higher", "geometric mean of the ratios; a copy on the reference core scores 1"
        )
        kernels = (KERNELS[name] for name in self.options.kernels)
        return (
            score,
            *(Metric(k.name, "1", "higher", f"{k.about}, ratio to the reference") for k in kernels),
        )

    def command(self, place: Place) -> Command:
        """One shell runs the kernels in order, so that all copies are at the same kernel at a time."""
        lines = (KERNELS[name].line(int(self.options.duration)) for name in self.options.kernels)
        return Command(("sh", "-eu", "-c", "\n".join(lines)), {"OUT": str(place.raw)}, cwd=place.scratch)

    def parse(self, phase: str, output: Output) -> Reading:
        """The rate of each kernel over that of the reference. Raises ParseFailure."""
        rates = {name: self._rate(name, output) for name in self.options.kernels}
        reference = _load_reference()["rates"]
        ratios = {name: rate / reference[name] for name, rate in rates.items()}
        return Reading({"score": geometric_mean(ratios.values()), **ratios}, facts={"rates": rates})

    def seconds(self) -> float | None:
        """So many kernels."""
        timed = [name for name in self.options.kernels if name != "lzma"]
        return len(timed) * (self.options.duration + 0.1) + _SEVEN_ZIP_SECONDS * (
            "lzma" in self.options.kernels
        )

    def _rate(self, name: str, output: Output) -> float:
        path = output.raw.get(f"{name}.txt")
        if path is None:
            raise ParseFailure(f"kernel {name} produced no output")
        return KERNELS[name].rate(path.read_text(errors="replace"))


def _load_reference() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(_REFERENCE.read_text())
    return content
