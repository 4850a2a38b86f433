"""A set of test files: its size, fio's options for it, and the phase that brings it into a known state."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.model.command import Phase, Place
from steelyard.units import Size
from steelyard.workloads.kit.fio.job import Settings, fio_command

_PAGE = 4096


@dataclass(frozen=True, slots=True)
class FileSet:
    """Files of one kind: how many, of which sizes, read or written in which block; sizes in bytes.

    `limit` is the option that sets `largest`, for messages. With `smallest`, fio draws each size. `processes`
    have such a set each.
    """

    name: str
    files: int
    largest: int
    block: int
    smallest: int | None = None
    limit: str = "max_file_size"
    processes: int = 1

    def settings(self, *, known: bool = False) -> Settings:
        """fio options that name the files, with their sizes unless the files are `known` to exist."""
        names: Settings = {"filename_format": f"{self.name}.$jobnum.$filenum", "nrfiles": self.files}
        return names if known else {**names, "filesize": self._sizes()}

    def first_file(self) -> str:
        """The name of the first file of the first process."""
        return f"{self.name}.0.0"

    def total_bytes(self) -> int:
        """What all files hold at most."""
        return self.files * self.largest * self.processes

    def check(self, outstanding: int) -> None:
        """Raises ValueError unless a process's files hold as many blocks as it keeps outstanding."""
        smallest = self.largest if self.smallest is None else self.smallest
        if smallest > self.largest:
            raise ValueError(
                f"min_file_size: {Size(smallest)} is greater than {self.limit}: {Size(self.largest)}"
            )
        blocks = self.files * (smallest // self.block) if self.block else 0
        if blocks < outstanding:
            raise ValueError(self._describe_shortage(blocks, smallest, outstanding))

    def _describe_shortage(self, blocks: int, smallest: int, outstanding: int) -> str:
        option = self.limit if self.smallest is None else "min_file_size"
        needed = Size(-(-outstanding // self.files) * self.block)
        held = f"{self.files} file(s) of {Size(smallest)} hold {blocks} blocks of {Size(self.block)}"
        return (
            f"{held}, fewer than the {outstanding} I/Os to be outstanding; "
            f"raise {option} to {needed}, use more files, or lower outstanding"
        )

    def _sizes(self) -> str:
        largest = str(int(self.largest))
        return largest if self.smallest is None else f"{int(self.smallest)}-{largest}"


def prepare(place: Place, files: FileSet, phase: str = "prepare") -> Phase:
    """Lay the files out with data really written, and drop them from the host's cache; not measured.

    fio lays out what it is to read, syncs it, and drops a file's cached pages when it opens the file. Reading
    one page of each file, without readahead, is the least that opens them all.
    """
    job = {
        **files.settings(),
        "rw": "read",
        "bs": _PAGE,
        "io_size": _PAGE * files.files,
        "invalidate": True,
        "fadvise_hint": "random",
        "thread": True,
        "numjobs": files.processes,
    }
    return Phase(phase, fio_command(place, phase, {}, {phase: job}), measured=False)
