"""`use: ttbar`: simulate proton collisions that make pairs of top quarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from steelyard.plugin import Command, Metric, Output, ParseFailure, Place, Reading, Tool
from steelyard.plugin.workload import Workload, WorkloadOptions
from steelyard.workloads.kit.document import parse_last_line

_VERSION = "import importlib.metadata as found; print(found.version('pythia8mc'))"
PYTHIA = Tool("pythia8mc", pip="pythia8mc.lock", program="python3", version=("-c", _VERSION), at_least="8.3")
_SEEDS = 900_000_000  # Pythia takes seeds from 1 to this
_JOB = Path(__file__).with_name("job.py")

Process = Literal["gg2ttbar", "qqbar2ttbar"]


def _check_processes(value: tuple[Process, ...]) -> tuple[Process, ...]:
    if not value or len(set(value)) != len(value):
        raise ValueError("give one process or both, each only once: [gg2ttbar, qqbar2ttbar]")
    return value


class TtbarOptions(WorkloadOptions):
    """How many events of which kind."""

    events: int = Field(150, ge=1, le=10_000_000, description="Events to generate in each copy.")
    energy: float = Field(
        13_000.0, ge=400, le=100_000, description="Centre-of-mass energy of the collision, in GeV."
    )
    processes: Annotated[tuple[Process, ...], AfterValidator(_check_processes)] = Field(
        ("gg2ttbar", "qqbar2ttbar"), description="Hard processes: gg2ttbar, qqbar2ttbar, or both."
    )


class Ttbar(Workload[TtbarOptions]):
    """Generation of top-quark-pair events, as in the first step of an LHC simulation job.

    **Measures** `event_rate`, events per second of elapsed time, and `cpu_per_event`. Initialisation, in
    which Pythia integrates the cross sections, is timed separately (`initialisation`) and is not part of the
    rate.

    **Source**: the benchmark gensim of "Benchmarking of public and local cloud resources", Fermilab, 2015,
    which generates 150 such events in the CMS software and also simulates the detector. Here it is only the
    generator, Pythia 8 (https://pythia.org) from PyPI, with parton showers, multiparton interactions and
    hadronisation; compare shapes and ratios with that report, not rates.

    **How to read it.** One process uses one core. With `copies: cores` each copy generates its own events,
    the rates add up, and the loss per core compared with a single copy is the efficiency loss. Copies start
    together, so their initialisations also overlap. Events differ in cost: below about 100 events, chance
    changes the rate by several percent. The same seed generates the same events.
    """

    Options = TtbarOptions
    needs = (PYTHIA,)
    covers = ("FNAL.1", "FNAL.4")
    examples = ({"events": 20}, {"events": 10, "energy": 7000, "processes": ["qqbar2ttbar"]})

    def metrics(self) -> tuple[Metric, ...]:
        """The rate, and what an event costs."""
        return (
            Metric("event_rate", "1/s", "higher", "events generated per second of elapsed time"),
            Metric("cpu_per_event", "s", "lower", "CPU time per event", over_copies="mean"),
            Metric(
                "initialisation",
                "s",
                "lower",
                "elapsed time before the first event, not part of the rate",
                over_copies="max",
            ),
        )

    def command(self, place: Place) -> Command:
        """The job goes to the interpreter as text, so that a far host needs nothing but Pythia."""
        asked = {
            "events": self.options.events,
            "energy": self.options.energy,
            "processes": list(self.options.processes),
            "seed": (place.seed + place.copy) % _SEEDS + 1,
        }
        return Command(PYTHIA.argv("-", json.dumps(asked)), stdin=_JOB.read_text())

    def parse(self, phase: str, output: Output) -> Reading:
        """The job's last line. Raises ParseFailure, also when other than the asked events were made."""
        document = parse_last_line(output.stdout, "the event generator")
        events, wall = document.child("events").count(), document.child("wall").number()
        if events != self.options.events or wall <= 0:
            raise ParseFailure(
                f"{events} events were generated in {wall} s, but {self.options.events} were requested"
            )
        values = {
            "event_rate": events / wall,
            "cpu_per_event": document.child("cpu").number() / events,
            "initialisation": document.child("initialisation").number(),
        }
        facts = {name: node.value for name, node in document.items() if name not in ("wall", "cpu")}
        return Reading(values, facts=facts)

    def seconds(self) -> float | None:
        """About 6 ms an event on a core of 2020, and the initialisation."""
        return self.options.events * 0.006 + 0.5
