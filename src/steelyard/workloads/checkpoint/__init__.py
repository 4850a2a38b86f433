"""`use: checkpoint`: what saving and restoring state costs."""

from __future__ import annotations

from steelyard.plugin import Command, Metric, Output, Place, Reading
from steelyard.plugin.workload import Workload
from steelyard.workloads.checkpoint.options import CheckpointOptions
from steelyard.workloads.checkpoint.output import (
    COORDINATED,
    OF_OBJECT,
    OF_PROGRAM,
    OF_UNIT,
    REOPENED,
    WHOLE,
    read_result,
    read_ring,
)
from steelyard.workloads.checkpoint.source import PYTHON, make_command
from steelyard.workloads.kit.document import parse_last_line

_BYTES_PER_SECOND = 100e6  # its content is made twice, written, read and compared
_BASE_SECONDS = 0.5


class Checkpoint(Workload[CheckpointOptions]):
    """Saving a running program's state, killing it, and restoring the state into a new process.

    **Measures** `save_time`, from the request until fsync of the state file and of its directory has
    returned, and what that consists of; `state_size`; and `restore_time`, from a cold cache, until a new
    process has the state. The start of that process is not counted. With `ring`, all copies are saved at one
    moment: `pre_time` drains what is in transit between them, `post_time` has messages go on.

    **Source**: XtreemOS D4.2.7 (2010), 4.3.3 and 4.4.2: figures 4.1 to 4.4 against memory of 10, 50, 100, 500
    and 1000 MB; 4.5 to 4.8 for units of one job; 4.9 and 4.10 for their channels, closed or left open; 4.12
    and 4.13, and tables 4.2 to 4.4, for objects of System V. There, checkpointers in the kernel or a library
    saved processes from outside. Here the program saves itself, as most applications on clusters do, so
    compare shapes, not times.

    **How it is checked.** A verifier makes the content from a secret of its own, and asks for every step of
    a counter, which changes the memory. It kills the program (SIGKILL) after the save. The new process must
    prove each MiB of its memory with a key that nobody could know before, after the state file was emptied
    and removed; then the counter must go on with the next number. Both ends of each channel of a ring write
    down every message, and each must have been sent and received once. An object of System V is made and
    read by the verifier; whoever saved it is killed, and it is removed. Anything else fails the trial.

    **How to read it.** `checksum_time` is the program's own work: a sixth of a save to a disk of 750 MB/s.
    `zero` and `half` show file systems that compress. A restore that was to be cold is marked if the file
    was still cached, as it always is on tmpfs. Of your own `program`, only what `state` prints is compared,
    and its `restore_time` includes its start. Times of a ring are those of its slowest unit.
    """

    Options = CheckpointOptions
    needs = (PYTHON,)
    covers = ("XOS.3", "XOS.5", "XOS.6", "XOS.8", "XOS.9")
    words = frozenset({"program.run", "program.restore", "program.state", "program.save.command"})
    examples = (
        {"memory": "1MB", "steps": 10},
        {"memory": "2MB", "content": "half", "cache": "warm", "steps": 5},
        {"state": "shared-memory", "memory": "1MB"},
        {"state": "messages", "messages": 64},
        {"state": "semaphores", "semaphores": 100},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """The whole, then its parts."""
        if ring := self.options.ring:
            return (*COORDINATED, *OF_UNIT, *(REOPENED if ring.sockets == "reopened" else ()))
        if self.options.state != "memory":
            return (*WHOLE, *OF_OBJECT)
        return (*WHOLE, *(OF_PROGRAM if self.options.program else OF_UNIT))

    def command(self, place: Place) -> Command:
        """The verifier, which starts the program that is saved."""
        about = {name: getattr(place, name) for name in ("copy", "copies", "peers", "address")}
        return make_command({**self.options.describe_job(), **(about if self.options.ring else {})}, place)

    def parse(self, phase: str, output: Output) -> Reading:
        """The program's last line. Raises ParseFailure."""
        document = parse_last_line(output.stdout, "the checkpoint program")
        names = (metric.name for metric in self.metrics())
        times = tuple(name.removesuffix("_time") for name in names if name.endswith("_time"))
        return read_ring(document, times) if self.options.ring else read_result(document, times)

    def directory(self) -> str:
        """The option of that name."""
        return self.options.directory

    def disk(self) -> int:
        """One state file."""
        return self.options.size + (1 << 20)

    def seconds(self) -> float | None:
        """By the memory; of a program of the user's nobody knows."""
        if self.options.program:
            return None
        ring = self.options.ring
        messages = 2 * ring.messages * ring.interval if ring else 0.0
        return _BASE_SECONDS + self.options.size / _BYTES_PER_SECOND + messages
