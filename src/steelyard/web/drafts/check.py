"""What is wrong with a draft, at its lines, or else what it would run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from steelyard.controller.plan.planning import describe_plan, make_plan
from steelyard.errors import SpecError, SteelyardError
from steelyard.spec.load import load_source
from steelyard.spec.yaml.source import read
from steelyard.store.layout import Store

NAME = "the draft"


class DraftProblem(NamedTuple):
    """Something that is wrong; `line` and `column` from 1, or 0 for the whole."""

    line: int
    column: int
    text: str


class CheckedDraft(NamedTuple):
    """`title`: the experiment's name; `plan`: what would be run, line by line; empty where there are
    problems, or where none was asked for.
    """

    title: str
    problems: list[DraftProblem]
    plan: list[str]


def check_draft(
    text: str, store: Store, folder: Path, site: str = "", *, planning: bool = True
) -> CheckedDraft:
    """Check a draft as `steelyard plan` would, which would lie in a folder; nothing is run."""
    try:
        experiment = load_source(read(text, NAME), folder)
        plan = describe_plan(make_plan(experiment, store, site or None)) if planning else []
        return CheckedDraft(experiment.experiment, [], plan)
    except SpecError as error:
        return CheckedDraft("", list(_locate(error.problems)), [])
    except SteelyardError as error:
        return CheckedDraft("", [DraftProblem(0, 0, str(error))], [])


def _locate(problems: Iterable[object]) -> Iterable[DraftProblem]:
    for problem in problems:
        line, column = getattr(problem, "line", 0), getattr(problem, "column", 0)
        yield DraftProblem(int(line), int(column), str(getattr(problem, "message", problem)))
