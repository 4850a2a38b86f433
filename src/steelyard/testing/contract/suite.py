"""What the suites of all kinds share: which plug-ins they test, and what each plug-in declares of itself."""

from __future__ import annotations

import inspect
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, get_args

import pytest
from pydantic import BaseModel, ValidationError

from steelyard.model.metric import Better, Metric
from steelyard.model.tool import Tool
from steelyard.model.unit import base_unit
from steelyard.plugins import find
from steelyard.tools.find import find_missing, local_commands

Parameters = Mapping[str, Sequence[Any]]


class Contract:
    """Base of the suites. `names` are the plug-ins: of the catalogue, or files such as `./server.py`."""

    kind: ClassVar[str]
    base: ClassVar[type[Any]]
    names: ClassVar[Iterable[str]] = ()

    def __init_subclass__(cls) -> None:
        """Leave out the tests that none of the plug-ins has to pass."""
        parameters = cls.parameters() if cls.names else {}
        empty = {argument for argument, values in parameters.items() if not values}
        for name, test in inspect.getmembers(cls, inspect.isfunction):
            if name.startswith("test_") and empty & inspect.signature(test).parameters.keys():
                setattr(cls, name, None)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Each test once for each value of the parameter that it takes."""
        for argument, values in self.parameters().items():
            if argument in metafunc.fixturenames:
                metafunc.parametrize(argument, values)

    @classmethod
    def parameters(cls) -> Parameters:
        """What tests may take: by default a `name`."""
        return {"name": sorted(cls.names)}

    @classmethod
    def find(cls, name: str) -> Any:
        """The class of a plug-in."""
        return find(cls.kind, name, cls.base)

    @classmethod
    def number_examples(cls) -> list[Any]:
        """Every example of every plug-in, as a parameter: the name and the example's number."""
        return [
            pytest.param((name, index), id=f"{name}-{index}")
            for name in sorted(cls.names)
            for index in range(len(cls.find(name).examples))
        ]


def check_declaration(kind: Any, least: int) -> None:
    """Its docstring, its options, its examples."""
    assert len(inspect.cleandoc(kind.__doc__ or "")) > least, "the docstring becomes the catalogue"
    check_options(kind.Options)
    for example in kind.examples:
        kind.Options.model_validate(example)


def check_options(model: type[BaseModel], example: Mapping[str, Any] | None = None) -> None:
    """Each is described, and none is ignored."""
    assert [key for key, field in model.model_fields.items() if not field.description] == []
    with pytest.raises(ValidationError):
        model.model_validate({**(example or {}), "no_such_option": 1})


def check_metrics(metrics: Sequence[Metric]) -> None:
    """Each has a name of its own, a unit that we know, and a direction."""
    names = [metric.name for metric in metrics]
    histograms = {metric.name for metric in metrics if metric.kind == "histogram"}
    assert len(names) == len(set(names))
    for metric in metrics:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", metric.name)
        assert base_unit(metric.unit).unit == metric.unit
        assert metric.better in get_args(Better)
        assert (metric.quantile is None) == (metric.histogram is None)
        assert metric.histogram is None or metric.histogram in histograms


def skip_without(needs: Iterable[Tool]) -> None:
    """Skip a test for what this machine lacks. Programs of ours are brought, as a run does."""
    for tool in find_missing(tuple(needs)):
        pytest.skip(f"{tool.name} is not installed")
    for argv in (argv for tool in needs if tool.bundled for argv in local_commands(tool)):
        subprocess.run(argv, check=True)
