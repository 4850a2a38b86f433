"""The tutorials, typed as they stand: each file of a page is there, each command ends as the page says.

A command begins with `$ `; what follows is its output, shortened by `…`. Where `echo "exit code $?"` follows
it, the page has the code; otherwise it is 0. Figures differ everywhere, but headings of tables do not.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^exit code (\d+)$", re.MULTILINE)
NEEDS = {"a-service": ["redis-server"], "many-hosts": ["fio", "ip"], "database-in-a-job": ["java"]}
AS_ROOT = {"many-hosts"}
WORKFLOW = 15


@dataclass(frozen=True)
class Typed:
    """A line that a reader types, and what the page shows of the answer."""

    line: str
    shown: str

    @property
    def code(self) -> int:
        found = CODE.search(self.shown)
        return int(found[1]) if found else 0

    @property
    def headings(self) -> set[str]:
        """The words of each table's heading."""
        lines = [line for line in self.shown.splitlines() if line.startswith(("cell ", "name "))]
        return {word for line in lines for word in line.split()} - {"…", "marks"}


def read_blocks(page: Path, *languages: str) -> list[str]:
    return [block for language, block in BLOCK.findall(page.read_text()) if language in languages]


def read_lines(page: Path) -> Iterator[Typed]:
    for block in read_blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            yield Typed(line, shown)


def list_files(page: Path) -> dict[str, str]:
    """The files that a reader saves: blocks that begin with a comment of a name."""
    named = [(re.match(r"# (\S+\.\w+)\n", block), block) for block in read_blocks(page, "yaml", "python")]
    return {match[1]: block for match, block in named if match}


@pytest.fixture
def type_line(enterable):
    """A shell in an empty directory with a `steelyard` on PATH and the examples of the clone."""
    (enterable / "bin").mkdir()
    (enterable / "bin" / "steelyard").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m steelyard "$@"\n')
    (enterable / "bin" / "steelyard").chmod(0o755)
    folder = enterable / "reader"
    folder.mkdir()
    (folder / "examples").symlink_to(ROOT / "examples")
    env = {**os.environ, "PATH": f"{enterable / 'bin'}:{os.environ['PATH']}"}
    env.pop("STEELYARD_STORE", None)

    def type_(line: str, files: dict[str, str]) -> subprocess.CompletedProcess[str]:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        argv = ["bash", "-c", line]
        return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)

    return type_


def test_there_are_five():
    assert {page.stem for page in PAGES} == {
        "first-experiment",
        "a-service",
        "many-hosts",
        "database-in-a-job",
        "ci-gate",
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_that_is_run_is_on_the_page(page):
    text = "\n".join(typed.line for typed in read_lines(page))
    written = set(re.findall(r"(?:> |-o )(\S+)", text))
    assert set(re.findall(r"\b[\w-]+\.yaml\b", text)) - written <= set(list_files(page))


def test_a_workflow_is_short():
    workflows = [
        block for name, block in list_files(ROOT / "docs/tutorials/ci-gate.md").items() if name[0] == "."
    ]
    assert len(workflows) == 2
    assert all(len(block.splitlines()) <= WORKFLOW for block in workflows)


@pytest.mark.full
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_ends_as_the_page_says(page, type_line):
    for program in NEEDS.get(page.stem, []):
        if subprocess.run(["which", program], capture_output=True, check=False).returncode:
            pytest.skip(f"{program} is not installed")
    if page.stem in AS_ROOT and os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    files = list_files(page)
    for typed in read_lines(page):
        done = type_line(typed.line.partition("; echo")[0], files)
        said = f"$ {typed.line}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, said
        # A fast machine meets what the page's does not; a busy one leaves requirements undecided, or has no
        # trial that counts, and says so.
        measures = typed.line.startswith(("steelyard run", "steelyard extend"))
        assert done.returncode in ({typed.code, 0, 1, 3} if measures else {typed.code}), said
        assert typed.headings <= set(done.stdout.split()), said
