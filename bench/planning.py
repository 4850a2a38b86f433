"""How long 100,000 trials take to plan, and how much memory."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.process import Finished, run
from bench.row import Row
from bench.setting import Setting, steelyard

TRIALS = 100_000
MOST_SECONDS, MOST_MEMORY = 1.0, 150 << 20
SHAPES = {"16,667 cells x 6": ((7, 2381), 6), "100,000 cells x 1": ((10, 100, 100), 1)}


def rows(setting: Setting) -> Iterator[Row]:
    """The design alone, and the whole command, for few and for many cells."""
    for shape, (levels, repeat) in SHAPES.items():
        path = setting.place / "many.yaml"
        path.write_text(experiment(levels, repeat))
        designed = [_designed(path, setting) for _ in range(setting.turns)]
        yield from _rows(f"design and first batch, {shape}", designed)
        run(steelyard("plan", str(path)), cwd=setting.place)  # its modules are compiled by this
        planned = [run(steelyard("plan", str(path)), cwd=setting.place) for _ in range(setting.turns)]
        yield from _rows(f"steelyard plan, {shape}", [(done.seconds, done) for done in planned])


def experiment(levels: tuple[int, ...], repeat: int) -> str:
    """A file with one parameter for each number of levels."""
    parameters = "".join(f"  p{index}: {{range: [1, {most}]}}\n" for index, most in enumerate(levels))
    words = ", ".join(f"'${{p{index}}}'" for index in range(len(levels)))
    return (
        f"experiment: many\nparameters:\n{parameters}"
        f"workload: {{use: command, run: [echo, {words}]}}\nrepeat: {repeat}\n"
    )


def _designed(path: Path, setting: Setting) -> tuple[float, Finished]:
    argv = (sys.executable, "-m", "bench.planning", str(path))
    done = run(argv, cwd=Path(__file__).parent.parent, env=setting.environment)
    return float(json.loads(done.output)["seconds"]), done


def _rows(what: str, found: list[tuple[float, Finished]]) -> Iterator[Row]:
    yield Row("planning", what, "s", tuple(seconds for seconds, _ in found), limit=MOST_SECONDS)
    peaks = tuple(float(done.peak) for _, done in found)
    yield Row("planning", f"{what}: memory", "B", peaks, limit=MOST_MEMORY)


def main(path: str) -> None:
    """Load a file, then make its design and the first batch; print how long the latter took."""
    from steelyard.design import Design, Results
    from steelyard.spec.load import load

    experiment_, _ = load(Path(path))
    began = time.perf_counter()
    batch = Design(experiment_, seed=1).next(Results())
    print(json.dumps({"seconds": time.perf_counter() - began, "batch": len(batch)}))


if __name__ == "__main__":
    main(sys.argv[1])
