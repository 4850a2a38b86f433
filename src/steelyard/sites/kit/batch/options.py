"""The options of every batch site: what a job asks its scheduler for, and what runs in it first."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeVar

from pydantic import AliasChoices, Field, ValidationInfo, field_validator

from steelyard.sites.base import SiteOptions
from steelyard.units import Duration

HOUR = Duration(3600)


class BatchOptions(SiteOptions):
    """What every batch scheduler can be told. All of it may stand in `sites.yaml`."""

    nodes: int | None = Field(
        None, ge=1, description="Number of hosts; default: what the largest cell needs."
    )
    time: Duration = Field(HOUR, description="Time limit of a job, for example 2h; schedulers count minutes.")
    queue: str = Field(
        "", validation_alias=AliasChoices("queue", "partition"), description="Queue or partition."
    )
    account: str = Field("", description="Account or project to charge.")
    qos: str = Field("", description="Quality of service, or service class.")
    reservation: str = Field("", description="Name of an advance reservation.")
    exclusive: bool = Field(
        True, description="Use hosts exclusively, because other jobs would disturb the measurement."
    )
    options: tuple[str, ...] = Field(
        (), description='Additional arguments for the submit command: ["--constraint=ib"].'
    )
    setup: tuple[str, ...] = Field(
        (), description="Shell lines that the job runs first, such as `module load …`."
    )
    shell: str = Field(
        "", description="Shell of the job script. Default: /bin/sh; with `setup`, a bash login shell."
    )
    split: Literal["by-hosts"] | None = Field(
        None,
        description="by-hosts: one job per number of hosts, one after the other, so that no host is idle.",
    )
    launcher: str = Field("", description="Launcher of ranks: mpirun, srun, jsrun, blaunch, pbsdsh.")
    python: str = Field(
        "", description="Python that runs Steelyard in the job; default: the one that submits it."
    )


class OneHostOptions(BatchOptions):
    """Options of a scheduler whose jobs have one host: it says so, and which options it `lacks`."""

    title: ClassVar[str]
    one_host: ClassVar[str]
    lacks: ClassVar[frozenset[str]]

    @field_validator("nodes")
    @classmethod
    def _check_nodes(cls, nodes: int | None) -> int | None:
        if nodes and nodes > 1:
            raise ValueError(f"{cls.one_host}, not {nodes}")
        return nodes

    @field_validator("queue", "account", "qos", "reservation")
    @classmethod
    def _refuse_lacking(cls, value: str, info: ValidationInfo) -> str:
        if value and info.field_name in cls.lacks:
            raise ValueError(f"{cls.title} has nothing like it: leave `{info.field_name}` out")
        return value


BatchOptionsT = TypeVar("BatchOptionsT", bound=BatchOptions)
