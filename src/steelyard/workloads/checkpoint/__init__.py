"""`use: checkpoint`: what saving and restoring state costs."""

from __future__ import annotations

from steelyard.plugin import Command, Metric, Output, Place, Reading
from steelyard.plugin.workload import Workload
from steelyard.workloads.checkpoint.options import CheckpointOptions
from steelyard.workloads.checkpoint.output import OF_PROGRAM, OF_UNIT, WHOLE, read_result
from steelyard.workloads.checkpoint.source import PYTHON, make_command
from steelyard.workloads.kit.document import parse_last_line

_BYTES_PER_SECOND = 100e6  # its content is made twice, written, read and compared
_BASE_SECONDS = 0.5


class Checkpoint(Workload[CheckpointOptions]):
    """Saving a running program's state, killing it, and restoring the state into a new process.

    **Measures** `save_time`, from the request until fsync of the state file and of its directory has
    returned, and what that consists of; `state_size`; and `restore_time`, from a cold cache, until a new
    process has the state. The start of that process is not counted.

    **Source**: XtreemOS D4.2.7 (2010), 4.3.3 and 4.4.2: figures 4.1 to 4.4 against memory of 10, 50, 100, 500
    and 1000 MB. There, checkpointers in the kernel or a library saved processes from outside. Here the
    program saves itself, as most applications on clusters do, so compare shapes, not times.

    **How it is checked.** A verifier makes the content from a secret of its own, and asks for every step of
    a counter, which changes the memory. It kills the program (SIGKILL) after the save. The new process must
    prove each MiB of its memory with a key that nobody could know before, after the state file was emptied
    and removed; then the counter must go on with the next number. Anything else fails the trial.

    **How to read it.** `checksum_time` is the program's own work: a sixth of a save to a disk of 750 MB/s.
    `zero` and `half` show file systems that compress. A restore that was to be cold is marked if the file
    was still cached, as it always is on tmpfs. Of your own `program`, only what `state` prints is compared,
    and its `restore_time` includes its start.
    """

    Options = CheckpointOptions
    needs = (PYTHON,)
    covers = ("XOS.3", "XOS.8")
    words = frozenset({"program.run", "program.restore", "program.state", "program.save.command"})
    examples = (
        {"memory": "1MB", "steps": 10},
        {"memory": "2MB", "content": "half", "cache": "warm", "steps": 5},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """The whole, then its parts."""
        return (*WHOLE, *self._parts())

    def command(self, place: Place) -> Command:
        """The verifier, which starts the program that is saved."""
        return make_command(self.options.describe_job(), place)

    def parse(self, phase: str, output: Output) -> Reading:
        """The program's last line. Raises ParseFailure."""
        document = parse_last_line(output.stdout, "the checkpoint program")
        parts = (metric.name.removesuffix("_time") for metric in self._parts())
        return read_result(document, ("save", "restore", *parts))

    def directory(self) -> str:
        """The option of that name."""
        return self.options.directory

    def disk(self) -> int:
        """One state file."""
        return int(self.options.memory) + (1 << 20)

    def seconds(self) -> float | None:
        """By the memory; of a program of the user's nobody knows."""
        if self.options.program:
            return None
        return _BASE_SECONDS + self.options.memory / _BYTES_PER_SECOND

    def _parts(self) -> tuple[Metric, ...]:
        return OF_PROGRAM if self.options.program else OF_UNIT
