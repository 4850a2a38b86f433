"""The options of `jobs`."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.plugin import Duration, ScratchOrAbsolute
from steelyard.plugin.workload import WorkloadOptions

_ONLY = {"run": {"program", "retries", "at_once"}, "status": {"queries"}}


class JobsOptions(WorkloadOptions):
    """Where jobs go, how many, and what they are."""

    engine: str = Field(
        min_length=1,
        description="The batch engine, as `--site` calls it: slurm, hyperqueue, or an entry of sites.yaml "
        "with its queue, account and options, or with the image of a Kubernetes cluster's pods.",
    )
    do: Literal["run", "status"] = Field(
        "run",
        description="`run`: submit jobs and see them to their end. `status`: keep jobs there and ask how the "
        "first of them stands.",
    )
    jobs: int = Field(100, ge=1, le=10_000, description="Number of jobs.")
    at_once: int = Field(10, ge=1, le=1000, description="Submit commands that run at the same time.")
    processes: int = Field(1, ge=1, le=1000, description="Processes that each job starts on its host.")
    program: tuple[str, ...] = Field(
        ("true",), min_length=1, description="The program of each process, with its arguments."
    )
    retries: int = Field(0, ge=0, le=100, description="How often a job that failed is submitted again.")
    limit: Duration = Field(
        Duration(60), description="Time limit of each job; some engines count whole minutes."
    )
    start_within: Duration = Field(
        Duration(300),
        description="A job that has not started so long after its submission is cancelled and has failed.",
    )
    queries: int = Field(20, ge=1, le=100_000, description="With `do: status`, how often to ask in a row.")
    directory: ScratchOrAbsolute = Field(
        "scratch",
        description="Where jobs leave their stamps: the hosts of the engine must see it, too, but for pods.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        other = "status" if self.do == "run" else "run"
        if useless := self.model_fields_set & _ONLY[other]:
            raise ValueError(f"{min(useless)}: only with `do: {other}`; remove it")
        if not 1 <= self.limit <= 30 * 86_400:
            raise ValueError(f"limit: {self.limit} is not from 1 s to 30 days")
        if not 1 <= self.start_within <= 30 * 86_400:
            raise ValueError(f"start_within: {self.start_within} is not from 1 s to 30 days")
        return self
