"""How long 100,000 trials take to plan and to take note of, and how much memory."""

from __future__ import annotations

import itertools
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.process import Finished, in_turns, run
from bench.row import Row
from bench.setting import Setting, steelyard

TRIALS = 100_000
MOST_MEMORY = 150 << 20
MOST_DESIGN = 15.0
"""Times as long as Python takes for so many dictionaries of the same names and for shuffling them."""
MOST_PLAN = 8.0
"""Times as much CPU as the plan of two cells."""
SHAPES = {"16,667 cells x 6": ((7, 2381), 6), "100,000 cells x 1": ((10, 100, 100), 1)}
NOTED = {
    "10,000 cells x 10": (((100, 10), 10), ((1000, 10), 10)),
    "100 cells x 1,000": (((10, 10), 100), ((10, 10), 1000)),
}
"""By the shape of all trials: levels and repetitions of a tenth of them, and of all."""
MOST_GROWTH = 20.0
"""Times as long for ten times the trials: what grows with their square takes a hundred times as long."""


def rows(setting: Setting) -> Iterator[Row]:
    """The design alone, and the whole command, for few and for many cells."""
    for shape, (levels, repeat) in SHAPES.items():
        path = setting.place / "many.yaml"
        path.write_text(experiment(levels, repeat))
        designed = [_designed(path, setting) for _ in range(setting.turns)]
        what, ours = f"design and first batch, {shape}", tuple(seconds for seconds, _ in designed)
        floor = tuple(_bare(levels, repeat) for _ in designed)
        beside = f"{TRIALS:,} dictionaries, shuffled"
        yield Row("planning", what, "s", ours, beside, floor, most=MOST_DESIGN)
        yield _memory(what, [done for _, done in designed])
        yield from _planned(shape, path, setting)
    yield from _noted(setting)


def _planned(shape: str, path: Path, setting: Setting) -> Iterator[Row]:
    """The whole command, beside the plan of two cells."""
    one, done = setting.place / "two.yaml", []
    one.write_text(experiment((2,), 1))

    def cpu(file: Path) -> float:
        done.append(run(steelyard("plan", str(file)), cwd=setting.place))
        return done[-1].cpu

    cpu(one)  # its modules are compiled by this
    found = in_turns(setting.turns, {"all": lambda: cpu(path), "one": lambda: cpu(one)})
    what = f"steelyard plan, {shape}"
    yield Row("planning", f"{what}: CPU", "s", found["all"], "of two cells", found["one"], most=MOST_PLAN)
    yield _memory(what, done[1::2])


def _bare(levels: tuple[int, ...], repeat: int) -> float:
    """CPU seconds for a dictionary a cell, and all trials in a random order."""
    names, began = [f"p{index}" for index in range(len(levels))], time.process_time()
    ranges = (range(1, most + 1) for most in levels)
    cells = [dict(zip(names, row, strict=True)) for row in itertools.product(*ranges)]
    trials = [(cell, number) for cell in cells for number in range(repeat)]
    random.Random(1).shuffle(trials)
    return time.process_time() - began


def _noted(setting: Setting) -> Iterator[Row]:
    """Batch by batch to the end, as a run does, beside a tenth of the trials."""
    for shape, sizes in NOTED.items():
        paths = [setting.place / name for name in ("tenth.yaml", "all.yaml")]
        for path, size in zip(paths, sizes, strict=True):
            path.write_text(experiment(*size))
        sides = {path.stem: lambda path=path: _designed(path, setting, "noted")[0] for path in paths}
        found = in_turns(setting.turns, sides)
        what = f"planned and taken note of one by one, {shape}"
        yield Row("planning", what, "s", found["all"], "a tenth of them", found["tenth"], most=MOST_GROWTH)


def experiment(levels: tuple[int, ...], repeat: int) -> str:
    """A file with one parameter for each number of levels."""
    parameters = "".join(f"  p{index}: {{range: [1, {most}]}}\n" for index, most in enumerate(levels))
    words = ", ".join(f"'${{p{index}}}'" for index in range(len(levels)))
    return (
        f"experiment: many\nparameters:\n{parameters}"
        f"workload: {{use: command, run: [echo, {words}]}}\nrepeat: {repeat}\n"
    )


def _designed(path: Path, setting: Setting, how: str = "first") -> tuple[float, Finished]:
    argv = (sys.executable, "-m", "bench.planning", str(path), how)
    done = run(argv, cwd=Path(__file__).parent.parent, env=setting.environment)
    return float(json.loads(done.output)["seconds"]), done


def _memory(what: str, found: Sequence[Finished]) -> Row:
    peaks = tuple(float(done.peak) for done in found)
    return Row("planning", f"{what}: memory", "B", peaks, limit=MOST_MEMORY)


def main(path: str, how: str) -> None:
    """Load a file, then make its design and the first batch, or all; print how long the latter took."""
    from steelyard.design import Design, Results
    from steelyard.model.trial import Result
    from steelyard.spec.load import load

    experiment_, _ = load(Path(path))
    began = time.process_time()  # there is no waiting in it
    design, results = Design(experiment_, seed=1), Results()
    while (batch := design.next(results)) and how == "noted":
        for trial in batch:
            results.add(Result(trial, "ok", 1.0))
    print(json.dumps({"seconds": time.process_time() - began}))


if __name__ == "__main__":
    main(*sys.argv[1:])
