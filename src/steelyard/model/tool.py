"""A program that a workload, service or collector needs on a host."""

from __future__ import annotations

from dataclasses import dataclass

_FROM_ENVIRONMENT = (
    "cache=${XDG_CACHE_HOME:-$HOME/.cache}; PATH=$cache/steelyard/tools/$0/bin:$PATH; export PATH; "
    'command -v "$1" >/dev/null || { '
    """echo "$0 is not on this host: run 'steelyard install $0'" >&2; exit 127; }; """
    'exec "$@"'
)
# Where a pattern matches several directories, the last one's programs are found first: the newest version's.
_BESIDE_PATH = 'for place in $0; do found=:$place$found; done; PATH=$PATH$found; export PATH; exec "$@"'


@dataclass(frozen=True, slots=True)
class Tool:
    """`name` is the program on PATH; `apt`, `dnf`: the packages that bring it; `version`: arguments that
    make it print its version; `at_least`: the oldest version that is known to work.

    A tool from PyPI has `pip`, a file of requirements with their hashes: one in `steelyard/tools/locks`, or a
    plug-in's own by its absolute path. `steelyard install` puts it into a virtual environment of its own,
    `~/.cache/steelyard/tools/<name>`; a host that has no such environment may have the program on PATH.
    One from crates.io has `cargo`, the crate with its version, and `sha256`, that of its archive. It is
    built into such a directory, as is one with `maven`, the absolute path of a project in Java, to which
    services may add (`steelyard.tools.maven`), with `go`, that of a module (`steelyard.tools.go_modules`),
    and with `compiled`, that of a folder of sources for the host's own compiler (`steelyard.tools.compiled`).
    One of ours has `bundled`, that of a folder in which it lies for each kind of machine, as
    `<name>-<uname -m>`; a run copies it into such a directory on its hosts, so that nobody need install it.
    `program` is what is started where that is not the name: a module for Python is started by `python3`.
    `places` are directories, as patterns of the shell, in which packages hide it from PATH. `advice` says how
    to get one that no registry has.
    """

    name: str
    apt: str = ""
    dnf: str = ""
    version: tuple[str, ...] = ("--version",)
    at_least: str = ""
    pip: str = ""
    cargo: str = ""
    sha256: str = ""
    maven: str = ""
    go: str = ""
    bundled: str = ""
    compiled: str = ""
    program: str = ""
    places: tuple[str, ...] = ()
    advice: str = ""

    @property
    def has_own_directory(self) -> bool:
        """Whether it is put into a directory of its own, and not on PATH."""
        return any((self.pip, self.cargo, self.maven, self.go, self.compiled, self.bundled))

    @property
    def is_obtainable(self) -> bool:
        """Whether anything brings it; else whoever needs it must have it from its maker."""
        return bool(self.apt or self.dnf or self.has_own_directory)

    def argv(self, *arguments: str) -> tuple[str, ...]:
        """The command line that starts it, on whatever host."""
        plain = (self.program or self.name, *arguments)
        if self.places:
            return ("sh", "-c", _BESIDE_PATH, " ".join(self.places), *plain)
        return ("sh", "-c", _FROM_ENVIRONMENT, self.name, *plain) if self.has_own_directory else plain


NETBENCH = Tool(
    "s2n-netbench-driver-client-tcp",
    cargo="s2n-netbench-driver-tcp@0.1.0",
    sha256="031c3b764693ff8ffcf42bbc2999f21986fb42c26835428ab1cf2e588931e9e0",
    version=("--help",),
)
# Without a place for its configuration it makes a directory in the home, even for its version.
RCLONE = Tool("rclone", apt="rclone", dnf="rclone", version=("--config", "", "version"))
DARSHAN = Tool(
    "darshan",
    pip="darshan.lock",
    program="python3",
    version=("-c", "import darshan; print(darshan.__version__)"),
)
