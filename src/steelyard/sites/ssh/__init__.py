"""Machines that are reached by SSH."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from steelyard.plugin import Duration, UsageError
from steelyard.plugin.host import Host
from steelyard.plugin.site import Site, SiteOptions
from steelyard.plugin.transport import NONE, Login, Token
from steelyard.sites.ssh.inventory import read_inventory

_KEY = "Private key file; default: the keys of ssh-agent, ssh_config and ~/.ssh"
_JUMP = "Jump hosts, [user@]host[:port] separated by commas; `none` overrides ssh_config"
_SCRATCH = "Directory for test data on the machine; default: chosen by the run"
_SUFFIXES = (".yaml", ".yml")


def _check_jumps(text: str) -> str:
    Login("").hops(text)
    return text


Jumps = Annotated[str, AfterValidator(_check_jumps)]


class SshHost(SiteOptions):
    """A machine. `alice@node1:2222` is short for its host, user and port."""

    host: str = Field(
        pattern=r"^[^\s@/-][^\s@/]*$", description="Its name or address, or its name in ssh_config"
    )
    name: str | None = Field(
        None, pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$", description="Its name in records; default: its host"
    )
    user: str | None = Field(None, description="Login user")
    port: int | None = Field(None, ge=1, le=65535, description="Where its sshd listens")
    key: str | None = Field(None, description=_KEY)
    jump: Jumps | None = Field(None, description=_JUMP)
    scratch: str | None = Field(None, pattern="^/", description=_SCRATCH)
    address: str | None = Field(
        None, description="Address at which the other hosts reach it; default: `host`"
    )
    cores: int | None = Field(None, ge=1, description="Number of cores to use; default: all")

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, given: Any) -> Any:
        """Widen the short form."""
        if isinstance(given, str):
            login = Login.from_text(given)
            parts = {"host": login.host, "user": login.user, "port": login.port}
            return {key: value for key, value in parts.items() if value is not None}
        return given


class SshOptions(SiteOptions):
    """The machines, and what holds for all of them that do not say otherwise."""

    hosts: tuple[SshHost, ...] = Field(min_length=1, description="The machines, in order of use")
    user: str | None = Field(
        None, description="Login user; default: the one in ssh_config, or the current user"
    )
    port: int | None = Field(None, ge=1, le=65535, description="Where their sshd listens")
    key: str | None = Field(None, description=_KEY)
    jump: Jumps | None = Field(None, description=_JUMP)
    scratch: str | None = Field(None, pattern="^/", description=_SCRATCH)
    known_hosts: str | None = Field(
        None,
        description="File of host keys to trust; `none` trusts any host key, and the record notes this",
    )
    config: str | None = Field(
        None, description="File to read instead of ~/.ssh/config; `none` reads no file"
    )
    connect_within: Duration = Field(
        Duration(20.0), ge=1, le=3600, description="Time limit for connecting to one host, including retries"
    )
    lost_after: Duration = Field(
        Duration(10.0), ge=1, le=600, description="Time without an answer after which a host counts as lost"
    )

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        twice = [name for name, count in Counter(self.names()).items() if count > 1]
        if twice:
            raise ValueError(f"{', '.join(twice)}: each host needs a distinct name; add `name`")
        return self

    def names(self) -> list[str]:
        """What records call the hosts: what is written, with the port where one machine serves several."""
        count = Counter(host.host for host in self.hosts)
        return [host.name or _name(host, alone=count[host.host] == 1) for host in self.hosts]

    def login(self, host: SshHost) -> Login:
        """How to get in, with what is common to all filled in."""
        return Login(
            host=host.host,
            user=host.user or self.user,
            port=host.port or self.port,
            key=host.key or self.key,
            jump=host.jump or self.jump,
            known_hosts=self.known_hosts,
            config=self.config,
            connect_within=self.connect_within,
            lost_after=self.lost_after,
        )


class Ssh(Site[SshOptions]):
    """Machines with an OpenSSH server, on which you have an account.

    `ssh:alice@node1,node2:2222` names them; `ssh:hosts.yaml` reads these options from a file. Try `ssh HOST
    true` first: Steelyard connects in the same way, with the same keys, agent, ssh_config and known hosts,
    but cannot enter a password. The machines need only a POSIX shell, and what you measure.
    """

    Options = SshOptions
    install_policy = "hosts"
    examples = ({"hosts": ["alice@node1", "node2:2222"]},)

    @classmethod
    def parse_shorthand(cls, argument: str) -> Mapping[str, Any]:
        """A list of hosts, or an inventory file."""
        if argument.endswith(_SUFFIXES) or "/" in argument:
            return read_inventory(Path(argument), SshOptions)
        try:
            for text in argument.split(","):
                Login.from_text(text)
        except ValueError as error:
            hint = "for example ssh:alice@node1,node2:2222, or a file as in ssh:hosts.yaml"
            raise UsageError(f"ssh:{argument[:200]}: {error}", hint=hint) from error
        return {"hosts": argument.split(",")}

    def size(self) -> int:
        """All that are named."""
        return len(self.options.hosts)

    def warnings(self) -> tuple[str, ...]:
        """That host keys are not checked, where that was chosen."""
        if self.options.known_hosts != NONE:
            return ()
        return ("site ssh: known_hosts is `none`: any server that answers at these addresses is trusted",)

    def lease(
        self, token: Token, log: Path, hosts: int | None
    ) -> AbstractAsyncContextManager[tuple[Host, ...]]:
        """The first so many of them, all connected."""
        # asyncssh takes a third of a second to load, which only a run has to pay.
        from steelyard.plugin.ssh import SshMachine, connect_machines

        options = self.options
        wanted = [
            SshMachine(
                name,
                options.login(host),
                address=host.address,
                scratch=_path(host.scratch or options.scratch),
                cores=host.cores,
            )
            for name, host in zip(options.names(), options.hosts, strict=True)
        ]
        return connect_machines(wanted[:hosts], token, log)


def _name(host: SshHost, *, alone: bool) -> str:
    name = host.host if alone or host.port is None else f"{host.host}-{host.port}"
    return re.sub("[^A-Za-z0-9.-]", "-", name)


def _path(text: str | None) -> PurePosixPath | None:
    return PurePosixPath(text) if text else None
