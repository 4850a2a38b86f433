"""`collect: [open_files]`"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from steelyard.plugin.collector import Collector, CollectorOptions, Column, Sample

FILE = "/proc/sys/fs/file-nr"


class OpenFiles(Collector[CollectorOptions]):
    """How many files the whole machine has open, and the share of what its kernel allows.

    A server that leaks connections shows here long before it fails. Source: proc_sys_fs(5), `file-nr`.
    """

    Options = CollectorOptions
    examples = ({}, {"every": "500ms"})

    def files(self) -> tuple[str, ...]:
        """One file, which the controller reads on each host."""
        return (FILE,)

    def columns(self, samples: Iterable[Sample] = ()) -> Mapping[str, Column]:
        """Both as they are when the sample is taken."""
        return {
            "open_files": Column("1", "open files of the machine"),
            "open_files_share": Column("%", "share of the open files that the kernel allows"),
        }

    def rows(self, samples: Iterable[Sample]) -> Iterator[Mapping[str, float]]:
        """A row a sample; one that cannot be read is left out."""
        for wall, monotonic, raw in samples:
            words = raw.get(FILE, "").split()
            if len(words) == 3 and all(word.isascii() and word.isdigit() for word in words) and int(words[2]):
                used, most = float(words[0]), float(words[2])
                yield {"t": wall, "m": monotonic, "open_files": used, "open_files_share": used / most}
