"""The kind `site`: where hosts come from.

A site is named on the command line or in a file as `NAME` or `NAME:ARGUMENT` (`local:4`,
`ssh:alice@node1,alice@node2`), or as an entry of `sites.yaml`, which gives its options by name. The file name
beside this one is the plug-in's name.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from steelyard.errors import UsageError
from steelyard.model.engine import Engine

if TYPE_CHECKING:  # a plan needs no hosts, nor asyncio
    from steelyard.hosts.base import Host
    from steelyard.hosts.token import Token

Capability = Literal[
    "root",
    "shared-files",
    "cut-network",
    "part-network",
    "kill-hosts",
    "pause-hosts",
    "checkpoint-hosts",
    "drain-nodes",
]


class Restriction(NamedTuple):
    """Why nothing acts as root on a site's hosts, nor mounts anything there; and what to do about it."""

    why: str
    hint: str


class SiteOptions(BaseModel):
    """Typed options of a site. Unknown keys are errors. Every field has a description with its unit."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


OptionsT = TypeVar("OptionsT", bound=SiteOptions)


class Site(ABC, Generic[OptionsT]):
    """Base of all sites. The subclass's docstring says where its hosts come from, and how to set it up.

    It sets `Options`, its `SiteOptions` class, and `needs`, the programs it calls on the controller's
    machine. `is_batch` says that its hosts come with a job of a batch scheduler (`kit.batch.site.BatchSite`);
    `count_option` is what `NAME:4` sets. `install_policy` says where tools are installed: `here`, as its
    hosts are this machine; on the `hosts`, which stay as they are; or `never`, as they come and go with a
    run; `covers`, ids of published requirements (`C4S.18`); `examples`, option mappings for the catalogue and
    the contract tests. `options` are the validated options.
    """

    Options: ClassVar[type[SiteOptions]] = SiteOptions
    needs: ClassVar[tuple[str, ...]] = ()
    is_batch: ClassVar[bool] = False
    install_policy: ClassVar[Literal["here", "hosts", "never"]] = "never"
    count_option: ClassVar[str] = "hosts"
    covers: ClassVar[tuple[str, ...]] = ()
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ()

    def __init__(self, options: OptionsT) -> None:
        self.options = options

    @classmethod
    def list_missing(cls) -> tuple[str, ...]:
        """What it needs on this machine and does not find; nothing is asked of anybody."""
        return tuple(program for program in cls.needs if shutil.which(program) is None)

    @classmethod
    def parse_shorthand(cls, argument: str) -> Mapping[str, Any]:
        """Options from what stands after the colon of `NAME:ARGUMENT`: by default a number of hosts.

        Raises UsageError, with an example.
        """
        name = cls.__module__.rpartition(".")[2]
        if not argument.isascii() or not argument.isdigit() or not int(argument):
            raise UsageError(f"{name}:{argument:.40}: give a number of hosts, as in {name}:4")
        return {cls.count_option: int(argument)}

    @abstractmethod
    def size(self) -> int | None:
        """How many hosts there are to lease; None when that is only known later, or as many as asked."""

    def note_roles(self, roles: Mapping[str, int | Literal["all"]]) -> None:
        """Learn how many hosts each role takes, in the order of `lease`; most sites need not know."""
        return

    def note_needs(self, capabilities: frozenset[str]) -> None:
        """Learn which of its capabilities the events of a run need, before `lease` is asked for hosts."""
        return

    def current_job(self) -> str | None:
        """The id of the job of this site that this process belongs to; None outside of any."""
        return None

    async def fetch_seconds_left(self) -> float | None:
        """For how long its hosts may still be used; None when that is not limited, or nobody knows."""
        return None

    async def describe_failure(self) -> str:
        """Why its hosts are taken away from us just now, where one of them failed; else nothing."""
        return ""

    def capabilities(self) -> frozenset[Capability]:
        """What can be done on its hosts that not every site allows."""
        return frozenset()

    def silence_limit(self) -> float | None:
        """Seconds without an answer after which each of its hosts counts as lost; None where nobody knows."""
        return None

    def find_restriction(self) -> Restriction | None:
        """What keeps programs on its hosts from all that needs root; None where they may do it, or may be
        allowed to, as nobody knows before a host is there.
        """
        return None

    def launcher(self) -> str:
        """What starts the ranks of parallel programs on its hosts, by its name in `steelyard.launchers`."""
        return "mpirun"

    def engine(self) -> Engine:
        """What workloads submit jobs with. Raises UsageError where it has no scheduler that can be used so,
        HostError where that scheduler's client is not here.
        """
        raise UsageError(f"{type(self).__name__.lower()} is no batch scheduler that takes jobs")

    def warnings(self) -> tuple[str, ...]:
        """What the record must say of how its hosts are reached, such as host keys that nobody checks."""
        return ()

    async def find_obstacles(self) -> list[str]:
        """What speaks against a lease, in sentences; nothing is started. Raises SteelyardError."""
        return []

    @abstractmethod
    def lease(
        self, token: Token, log: Path, hosts: int | None
    ) -> AbstractAsyncContextManager[tuple[Host, ...]]:
        """So many hosts (all there are for None) for as long as the block lasts, always in the same order.

        Whatever the run started on them is gone afterwards, also when the controller was killed. `token`
        marks everything that is started; `log` takes what goes wrong in the machinery itself. Raises
        HostError that names each host that could not be had, and why, and what to do.
        """
