"""What an experiment asks to be derived from its figures: the entries of `derive`.

`derive: [efficiency_loss, {knee: {parameter: streams, tolerance: 5%}}, {speedup: {over: machines}}, cost]`.
Without an entry a report derives what its data support by themselves: the efficiency loss where a cell fills
its cores, the speed-up where cells differ in their hosts, the cost where prices are known, the ranking where
cells differ in their machines, and the failure rate where there is one. A knee is only looked for when asked.
"""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from steelyard.units import Share

_METRIC = Field(None, description="The metric to derive it from; by default the first that fits")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class EfficiencyLossSettings(_Part):
    """What a copy loses against a copy that runs alone."""

    over: str | None = Field(None, description="The parameter that sets the copies; default: detected")
    metric: str | None = _METRIC


class SpeedUpSettings(_Part):
    """How many times faster it gets with more hosts, copies or whatever a parameter counts."""

    over: str | None = Field(None, description="The parameter that sets the hosts; default: detected")
    metric: str | None = _METRIC


class KneeSettings(_Part):
    """The smallest level beyond which more brings no gain."""

    parameter: str = Field(description="The parameter whose levels are numbers")
    metric: str | None = _METRIC
    tolerance: Share = Field(
        Share(0.05), description="The largest gain that counts as no gain, for example 5%"
    )

    @field_validator("tolerance")
    @classmethod
    def _check_tolerance(cls, value: Share) -> Share:
        if not 0 <= value < 10:
            raise ValueError(f"{value} must be between 0% and 1000%")
        return value


class CostSettings(_Part):
    """Work for money, and money for work."""

    metric: str | None = _METRIC


class RankingSettings(_Part):
    """Which level comes first, and how sure that is."""

    of: str | None = Field(None, description="The parameter whose levels are ranked; by default machines")
    metric: str | None = _METRIC


class FailureRateSettings(_Part):
    """The share of copies that failed, counted over all repetitions."""


class Derive(_Part):
    """One entry of `derive`; exactly one of its keys is given. A bare `cost` means `{cost: {}}`."""

    efficiency_loss: EfficiencyLossSettings | None = None
    speedup: SpeedUpSettings | None = None
    knee: KneeSettings | None = None
    cost: CostSettings | None = None
    ranking: RankingSettings | None = None
    failure_rate: FailureRateSettings | None = None

    @model_validator(mode="before")
    @classmethod
    def _widen_entry(cls, value: Any) -> Any:
        """`cost` becomes `{cost: {}}`, and so does `cost:` with nothing behind it."""
        if isinstance(value, str):
            return {value: {}}
        if isinstance(value, dict) and len(value) == 1:
            return {name: {} if entry is None else entry for name, entry in value.items()}
        return value

    @model_validator(mode="after")
    def _check_one_key(self) -> Self:
        if sum(getattr(self, name) is not None for name in type(self).model_fields) != 1:
            raise ValueError("an entry has exactly one key: " + ", ".join(type(self).model_fields))
        return self

    @property
    def name(self) -> str:
        """Which one it is: `knee`."""
        return next(name for name in type(self).model_fields if getattr(self, name) is not None)

    @property
    def settings(self) -> Any:
        """Its settings: a `KneeSettings`, a `CostSettings` …"""
        return getattr(self, self.name)

    def parameters(self) -> list[str]:
        """The parameters that it names, which must be some of the experiment's."""
        candidates = (getattr(self.settings, key, None) for key in ("over", "parameter", "of"))
        return [name for name in candidates if name]
