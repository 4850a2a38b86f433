"""Monitoring rules: the entries of `alert`.

`- {when: write_latency_p99 > 50ms, for: 5s, notify: phone}` tells once when the condition has held for five
seconds, and once when it holds no more.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, field_validator

from steelyard.model.expression import ExpressionError
from steelyard.model.keys.condition import parse_condition
from steelyard.model.part import Part
from steelyard.units import Duration


class Alert(Part):
    """A condition that somebody wants to be told of while a trial runs."""

    model_config = ConfigDict(populate_by_name=True)

    when: str = Field(
        description="A condition on services, as in `timeline`, and on figures that the workload tells while "
        "it runs, such as ring.pending_compactions > 100 or throughput < 1000"
    )
    hold: Duration = Field(
        Duration(0.0), alias="for", description="How long the condition must hold before it is told"
    )
    notify: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")] | None = Field(
        None,
        description="A name from ~/.config/steelyard/notify.yaml; default: the targets of --notify. A target "
        "may hold a secret, and the file is part of the record",
    )

    @field_validator("when")
    @classmethod
    def _check_when(cls, value: str) -> str:
        try:
            parse_condition(value)
        except ExpressionError as error:
            raise ValueError(f"'{value:.60}': {error.message}") from error
        return value
