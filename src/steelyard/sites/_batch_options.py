"""The options of every batch site: what a job asks its scheduler for, and what runs in it first."""

from __future__ import annotations

from typing import Literal, TypeVar

from pydantic import AliasChoices, Field

from steelyard.sites.base import SiteOptions
from steelyard.units import Duration

HOUR = Duration(3600)


class BatchOptions(SiteOptions):
    """What every batch scheduler can be told. All of it may stand in `sites.yaml`."""

    nodes: int | None = Field(
        None, ge=1, description="How many hosts; by default what the largest cell needs."
    )
    time: Duration = Field(HOUR, description="Time limit of a job, for example 2h; schedulers count minutes.")
    queue: str = Field(
        "", validation_alias=AliasChoices("queue", "partition"), description="Queue or partition."
    )
    account: str = Field("", description="Account or project that is charged.")
    qos: str = Field("", description="Quality of service, or service class.")
    reservation: str = Field("", description="Name of an advance reservation.")
    exclusive: bool = Field(True, description="Whole hosts: the work of others would disturb.")
    options: tuple[str, ...] = Field(
        (), description='Further words for the submit command: ["--constraint=ib"].'
    )
    setup: tuple[str, ...] = Field((), description="Lines of shell run in the job first, as `module load …`.")
    shell: str = Field("", description="Shell of the job script: /bin/sh, with `setup` a bash login shell.")
    split: Literal["by-hosts"] | None = Field(
        None, description="by-hosts: one job after the other for each number of hosts, so that none is idle."
    )
    launcher: str = Field("", description="How ranks are started: mpirun, srun, jsrun, blaunch, pbsdsh.")
    python: str = Field(
        "", description="Python that runs Steelyard in the job; by default the one that submits."
    )


BatchOptionsT = TypeVar("BatchOptionsT", bound=BatchOptions)
