"""`use: posix`: does a file system do what POSIX and Linux's manual pages say?"""

from __future__ import annotations

import json
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from steelyard.plugin import Command, Duration, Metric, Output, Place, Reading, ScratchOrAbsolute, Tool
from steelyard.plugin.workload import Workload, WorkloadOptions
from steelyard.workloads.kit.document import parse_last_line
from steelyard.workloads.posix.groups import GROUPS
from steelyard.workloads.posix.output import compute_shares, describe_results, read_results
from steelyard.workloads.posix.source import join_program

PYTHON = Tool("python3", apt="python3", dnf="python3", at_least="3.6")
_SECONDS_PER_GROUP = 0.6  # on a local file system, as both identities


def _check_groups(value: tuple[str, ...]) -> tuple[str, ...]:
    for name in value:
        if name not in GROUPS:
            raise ValueError(f"'{name}' is not a group; groups are {', '.join(GROUPS)}")
    if not value or len(set(value)) != len(value):
        raise ValueError("name at least one group, each only once")
    return value


class PosixOptions(WorkloadOptions):
    """Which cases, run by whom, where."""

    directory: ScratchOrAbsolute = Field(
        "scratch",
        description="Where the file system under test is: `scratch` (the run's own, on each host); an "
        "absolute path, in which the run makes and removes its own; or a service that is a file system.",
    )
    groups: Annotated[tuple[str, ...], AfterValidator(_check_groups)] = Field(
        tuple(GROUPS),
        description="Groups of cases to run. Leave out what the file system does not claim to support.",
    )
    run_as: Literal["both", "root", "user"] = Field(
        "both",
        alias="as",
        description="Who runs the cases: root, an unprivileged user, or both in turn. A run that is root "
        "gives up its privileges for the user's cases; another reports root's as not applicable.",
    )
    case_timeout: Duration = Field(
        Duration(30),
        description="How long a case may take before it is ended and counted as failed; 1s to 10min.",
    )

    @model_validator(mode="after")
    def _check_timeout(self) -> Self:
        if not 1 <= self.case_timeout <= 600:
            raise ValueError(f"case_timeout: {self.case_timeout} is not between 1s and 10min")
        return self


class Posix(Workload[PosixOptions]):
    """Conformance of a file system with POSIX and Linux, system call by system call.

    **Measures** how many of about 300 cases the file system passes: `tests`, `passed` and `passed_share`,
    and the share of each group (`open_passed` …). `scripts` counts the groups with at least one test.
    Cases of optional features (extended attributes, holes, O_TMPFILE …) which the system says it lacks are
    `unsupported` and do not count as tests; nor do cases that cannot be tried here, such as root's in a run
    that is not root. The facts list every failure with its rule, what was expected, and what happened.

    **Source**: table 4.7 of XtreemOS D4.2.7 (2010), which reports pjd-fstest for XtreemFS in the same
    columns. The cases are Steelyard's own, each with the POSIX function or manual page that it follows, so
    compare shapes (which calls are weak) with that table, not percentages.

    **How to read it.** A local file system passes everything. A lower share names what applications must not
    rely on: open `failures` in the record. Each case has its own directory and process; one that crashes or
    takes longer than `case_timeout` has failed, and after five of these in a row the others are not tried.
    The cases do not test several hosts at once.
    """

    Options = PosixOptions
    needs = (PYTHON,)
    covers = ("XOS.37",)
    examples = (
        {"groups": ["open", "rename", "truncate"]},
        {"groups": ["mkdir", "chmod", "permission"], "as": "user"},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """Counts, the share that passed, and each group's."""
        total = (
            Metric("scripts", "1", "none", "groups of cases with at least one test", over_copies="max"),
            Metric("tests", "1", "none", "cases that were tried"),
            Metric("passed", "1", "higher", "cases that passed"),
            Metric("passed_share", "%", "higher", "share of the tests that passed", over_copies="mean"),
            Metric("unsupported", "1", "lower", "cases of optional features that the system says it lacks"),
        )
        groups = (
            Metric(f"{name}_passed", "%", "higher", f"share passed: {GROUPS[name]}", over_copies="mean")
            for name in self.options.groups
        )
        return (*total, *groups)

    def command(self, place: Place) -> Command:
        """The program goes to the interpreter as text, so that a host needs nothing but Python."""
        asked = self.options.model_dump(by_alias=True, include={"groups", "run_as"})
        asked = {**asked, "case_timeout": float(self.options.case_timeout)}
        return Command(PYTHON.argv("-", json.dumps(asked)), cwd=place.scratch, stdin=join_program())

    def parse(self, phase: str, output: Output) -> Reading:
        """The program's last line. Raises ParseFailure."""
        document = parse_last_line(output.stdout, "the conformance program")
        results = read_results(document, self.options.groups)
        said = {"obstacles": document.child("obstacles").texts(), "python": document.child("python").text()}
        facts = {**describe_results(results), **said}
        return Reading(compute_shares(results), facts=facts)

    def directory(self) -> str:
        """The option of that name."""
        return self.options.directory

    def disk(self) -> int:
        """The largest files of a case, most of which are holes."""
        return 64 << 20

    def seconds(self) -> float | None:
        """About so long for each group; time stamps and large directories take the most."""
        return len(self.options.groups) * _SECONDS_PER_GROUP
