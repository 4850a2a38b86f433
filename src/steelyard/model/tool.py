"""A program that a workload, service or collector needs on a host."""

from __future__ import annotations

from dataclasses import dataclass

_FROM_ENVIRONMENT = (
    'cache=${XDG_CACHE_HOME:-$HOME/.cache}; PATH=$cache/steelyard/tools/$0/bin:$PATH; export PATH; exec "$@"'
)


@dataclass(frozen=True, slots=True)
class Tool:
    """`name` is the program on PATH; `apt`, `dnf`: the packages that bring it; `version`: arguments that
    make it print its version; `at_least`: the oldest version that is known to work.

    A tool from PyPI has `pip`, the package, which `steelyard install` puts into a virtual environment of its
    own, `~/.cache/steelyard/tools/<name>`; a host that has no such environment may have the program on PATH.
    `program` is what is started where that is not the name: a module for Python is started by `python3`.
    """

    name: str
    apt: str = ""
    dnf: str = ""
    version: tuple[str, ...] = ("--version",)
    at_least: str = ""
    pip: str = ""
    program: str = ""

    def argv(self, *arguments: str) -> tuple[str, ...]:
        """The command line that starts it, on whatever host."""
        plain = (self.program or self.name, *arguments)
        return ("sh", "-c", _FROM_ENVIRONMENT, self.name, *plain) if self.pip else plain
