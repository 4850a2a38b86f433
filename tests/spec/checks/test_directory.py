"""Directories of workloads that are services."""

from __future__ import annotations

import pytest

from steelyard.errors import SpecError
from steelyard.spec.load import load_source
from steelyard.spec.yaml.source import read

FILE = "experiment: x\nworkload: {use: command, run: [x], directory: DIRECTORY}\n"


def problems(text: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        load_source(read(text, "file"))
    return [str(problem) for problem in caught.value.problems]


def test_a_service_that_is_a_file_system_is_taken() -> None:
    text = FILE.replace("DIRECTORY", "files") + "services: {files: {use: tmpfs}}\n"
    assert load_source(read(text, "file")).workload[0].options["directory"] == "files"
    varied = FILE.replace("DIRECTORY", "files")
    varied += "parameters: {kind: [tmpfs, directory]}\nservices: {files: {use: '${kind}'}}\n"
    assert load_source(read(varied, "file")).services["files"].use == "${kind}"


def test_one_that_is_not_there_is_told_with_what_else_to_give() -> None:
    (said,) = problems(FILE.replace("DIRECTORY", "fils") + "services: {files: {use: tmpfs}}\n")
    assert said.startswith("file:2:")
    assert said.endswith(
        "directory: there is no service 'fils'; did you mean 'files'?; or give 'scratch' or an absolute path"
    )


@pytest.mark.parametrize(
    ("kind", "more", "named"),
    [("redis", "", "redis"), ("'${kind}'", "parameters: {kind: [tmpfs, redis]}\n", "tmpfs or redis")],
)
def test_one_that_holds_no_files_is_refused(kind: str, more: str, named: str) -> None:
    text = FILE.replace("DIRECTORY", "kv") + more + f"services: {{kv: {{use: {kind}}}}}\n"
    (said,) = problems(text)
    assert said.endswith(f"directory: service 'kv' is {named}, which is not a file system")
