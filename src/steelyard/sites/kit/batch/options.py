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


BatchOptionsT = TypeVar("BatchOptionsT", bound=BatchOptions)
