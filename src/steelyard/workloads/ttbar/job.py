"""Generates top pairs with Pythia 8 and prints one line of JSON. Fed to the interpreter that has pythia8mc.

It runs on hosts that have nothing of Steelyard, so it uses only Pythia and the standard library. The rate is
that of the generation of events alone; initialisation, in which Pythia integrates the cross sections and
samples multiparton interactions, is timed apart.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from importlib import metadata
from typing import Any

MOST_FAILURES = 0.1  # of the events, before giving up


def load_library() -> Any:
    """Pythia. Ends the program where this Python has none."""
    try:
        return importlib.import_module("pythia8mc")
    except ImportError as error:
        sys.exit(
            f"{error}; install it with `steelyard install pythia8mc` on this host, or with pip for its "
            "python3"
        )


def make_generator(pythia: Any, asked: dict[str, Any]) -> Any:
    """Pythia with the settings of the job. Ends the program when one of them is refused."""
    made = pythia.Pythia("", False)
    fixed = ("Print:quiet = on", "Random:setSeed = on", f"Random:seed = {asked['seed']}")
    beams = ("Beams:idA = 2212", "Beams:idB = 2212", f"Beams:eCM = {asked['energy']}")
    for line in (*fixed, *beams, *(f"Top:{name} = on" for name in asked["processes"])):
        if not made.readString(line):
            sys.exit(f"Pythia does not know the setting '{line}'")
    if not made.init():
        sys.exit("Pythia could not be initialised")
    return made


def generate(made: Any, events: int) -> tuple[int, int]:
    """Generate so many events. How many particles they had, and how many attempts failed."""
    particles = done = failed = 0
    while done < events:
        if made.next():
            done += 1
            particles += made.event.size()
        else:
            failed += 1
            if failed > max(10, MOST_FAILURES * events):
                sys.exit(f"Pythia failed at {failed} events and generated {done}")
    return particles, failed


def main() -> None:
    """Do what the first argument, JSON, asks for."""
    asked = json.loads(sys.argv[1])
    began = time.perf_counter()
    made = make_generator(load_library(), asked)
    started, cpu = time.perf_counter(), time.process_time()
    particles, failed = generate(made, asked["events"])
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    result = {
        "events": asked["events"],
        "wall": wall,
        "cpu": cpu,
        "initialisation": started - began,
        "failed": failed,
        "particles": particles,
        "cross_section_mb": made.infoPython().sigmaGen(),
        "pythia8mc": metadata.version("pythia8mc"),
        "python": sys.version.split()[0],
    }
    print("\n" + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
