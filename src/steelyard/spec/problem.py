"""What can be wrong with a file, and where: the words in which the spec package complains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from steelyard.errors import SpecError

MAX_PROBLEMS = 100
"""More problems than this are counted, not shown."""


class SourceMark(NamedTuple):
    """A place in a text; line and column count from 1, the column in characters."""

    line: int
    column: int


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake in a file, printed as `bad.yaml:3:17  message`; problems sort by place."""

    name: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.name}:{self.line}:{self.column}  {self.message}"


class SourceError(SpecError):
    """A file cannot be read; `problems` holds every mistake that was found, in the file's order."""

    problems: tuple[Problem, ...]

    def __init__(self, problems: Iterable[Problem]) -> None:
        super().__init__(sorted(problems))


class Problems:
    """Collects the problems of one file, so that all of them can be reported together."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._found: list[Problem] = []

    def add(self, mark: SourceMark, message: str) -> None:
        """Note a problem and carry on."""
        self._found.append(Problem(self._name, mark.line, mark.column, message))

    def stop(self, mark: SourceMark, message: str) -> NoReturn:
        """Note a problem after which reading cannot go on; raises SourceError with all of them."""
        self.add(mark, message)
        raise SourceError(self._list_problems())

    def check(self) -> None:
        """Raise SourceError if there are any problems."""
        if self._found:
            raise SourceError(self._list_problems())

    def _list_problems(self) -> list[Problem]:
        problems = sorted(self._found)
        if len(problems) <= MAX_PROBLEMS:
            return problems
        last = problems[MAX_PROBLEMS - 1]
        rest = f"{len(problems) - MAX_PROBLEMS + 1} more problems follow; fix those above first"
        return [*problems[: MAX_PROBLEMS - 1], Problem(last.name, last.line, last.column, rest)]
