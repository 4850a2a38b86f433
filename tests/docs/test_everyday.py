"""Ten ordinary questions: a short file each, a page of under a screen, and each runs by its bare name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.model.tool import Tool
from steelyard.spec.tool_needs import find_tools
from steelyard.tools.find import find_missing

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "examples" / "everyday").glob("*.yaml"))
PAGES = ROOT / "docs" / "how-to"
SCREEN = 40
ENDS = {"ab": 1}
"""Exit codes by design: the new build is slower."""
UNINSTALLED = {"own-server": Tool("wrk", apt="wrk"), "which-compression": Tool("xz", apt="xz-utils")}


def names(paths):
    return {path.stem for path in paths}


def test_there_are_ten_each_with_its_page():
    assert len(FILES) == 10
    assert names(FILES) <= names(PAGES.glob("*.md"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_question_is_the_first_line_and_the_page_is_short(path):
    question = path.read_text().splitlines()[0]
    assert question.startswith("# ")
    assert question.endswith("?")
    page = (PAGES / f"{path.stem}.md").read_text().splitlines()
    assert page[0].startswith("# ")
    assert page[0].endswith("?")
    assert len(page) <= SCREEN
    assert any(f"{path.stem}.yaml" in line for line in page)


def test_the_readme_leads_to_all_of_them_by_the_index():
    assert "(docs/README.md#how-to)" in (ROOT / "README.md").read_text()
    index = (ROOT / "docs" / "README.md").read_text()
    assert [path.stem for path in FILES if f"(how-to/{path.stem}.md)" not in index] == []


@pytest.mark.full
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_runs_by_its_bare_name(path, enterable_scratch):
    """Each trial counts, whatever else the machine does."""
    tools = [*find_tools(str(path)), *([UNINSTALLED[path.stem]] if path.stem in UNINSTALLED else [])]
    for tool in find_missing(tools):
        pytest.skip(f"{tool.name} is not installed")
    words = ("run", "-q", str(path), "--disturbed", "include")
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode in {ENDS.get(path.stem, 0), 1}, done.stderr  # 1: what this machine does not meet
    assert Path(done.stdout.splitlines()[-1]).is_file()
    listed = [sys.executable, "-m", "steelyard", "list", "--json"]
    (found,) = json.loads(subprocess.run(listed, capture_output=True, text=True, check=True).stdout)
    assert (found["state"], found["failed"]) == ("complete", 0), done.stderr
