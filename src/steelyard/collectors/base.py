"""The kind `collector`: what is recorded beside the workload.

A collector only describes. It names the files to read and the commands to run on a host, says what of a
sample is worth keeping, and turns samples into rows of a table. The controller reads through the host, so
that one parser serves at home and far away, and a collector can be tested without a machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from steelyard.model.column import Column, Sample
from steelyard.model.command import Command, Endpoint
from steelyard.model.keys.method import check_interval
from steelyard.model.tool import Tool
from steelyard.units import Duration


class CollectorOptions(BaseModel):
    """Typed options of a collector. Unknown keys are errors. Every field has a description with its unit."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    every: Duration = Field(Duration(1.0), description="The sampling interval, at least 0.1s")

    @field_validator("every")
    @classmethod
    def _check_interval(cls, value: Duration) -> Duration:
        return check_interval(value)


OptionsT = TypeVar("OptionsT", bound=CollectorOptions)


class Collector(ABC, Generic[OptionsT]):
    """Base of all collectors. The subclass's docstring says what it records, its source, and how to read it.

    It sets:

    - `Options`: its `CollectorOptions` class;
    - `needs`: the tools that its commands start;
    - `covers`: ids of published requirements;
    - `examples`: option mappings for the catalogue and the contract tests;
    - `looks_at`: a `host`, which the file picks with `on`, or the servers of a `service`, with `from`.

    A column that exists once per device is named `family:device` (`disk_read:vda`); `columns` describes the
    family. Every row has `t` and `m`, the wall clock and the monotonic clock in seconds, beside its columns.
    """

    Options: ClassVar[type[CollectorOptions]] = CollectorOptions
    needs: ClassVar[tuple[Tool, ...]] = ()
    covers: ClassVar[tuple[str, ...]] = ()
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    looks_at: ClassVar[Literal["host", "service"]] = "host"

    def __init__(self, options: OptionsT) -> None:
        self.options = options

    def files(self) -> tuple[str, ...]:
        """Absolute paths to read for a sample; one that is missing on a host reads as absent.

        A path may hold one `*` per part (`/sys/block/*/queue/scheduler`).
        """
        return ()

    def commands(self, endpoint: Endpoint | None) -> Mapping[str, Command]:
        """What no file tells: commands by name, bounded in time and output; a failing one reads as absent.

        `endpoint` is the server to look at, where the collector looks at a service.
        """
        return {}

    def reduce(self, raw: Mapping[str, str]) -> Mapping[str, str]:
        """What of a sample is worth keeping. It runs while the workload does: cut here, parse in `rows`."""
        return raw

    @abstractmethod
    def columns(self, samples: Iterable[Sample] = ()) -> Mapping[str, Column]:
        """What its columns mean, by name or family; where only samples tell, of what they hold."""

    @abstractmethod
    def rows(self, samples: Iterable[Sample]) -> Iterator[Mapping[str, float]]:
        """The rows of the table. Pure; leaves out what is absent, and never raises for odd content."""
