"""Tools from PyPI: real pip, and a folder of wheels in the place of PyPI."""

from __future__ import annotations

import hashlib
import re
import subprocess
import zipfile

import pytest

from steelyard.errors import PlugInError
from steelyard.model.tool import Tool
from steelyard.spec.tool_needs import all_tools
from steelyard.tools import pypi
from steelyard.tools.find import install_directory, local_commands

FROM_PYPI = [tool for tool in all_tools() if tool.pip]
NAMES = [tool.name for tool in FROM_PYPI]


def wheel(folder, name, *needs, code=""):
    """Make a wheel; its SHA-256."""
    path, about = folder / f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info"
    needed = "".join(f"Requires-Dist: {need}\n" for need in needs)
    with zipfile.ZipFile(path, "w") as made:

        def add(inside, text):
            made.writestr(zipfile.ZipInfo(inside), text)  # of no time, so that the same is the same again

        add(f"{name}.py", code)
        add(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needed}")
        add(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        add(f"{about}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    return tmp_path


def test_what_is_as_pinned_is_installed_and_nothing_else(wheels):
    pins = {"second": wheel(wheels, "second"), "first": wheel(wheels, "first", "second")}
    tool = Tool("first", pip=str(wheels / "x.lock"), program="python3")
    place = install_directory(tool)

    def lock(**listed):
        lines = [f"{name}==1.0 --hash=sha256:{one}\n" for name, one in listed.items()]
        (wheels / "x.lock").write_text("".join(lines))

    def installed():
        done = subprocess.run(fetch, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or "hash" in done.stderr.lower(), done.stderr
        return sorted(path.stem for path in place.glob("lib/*/site-packages/*.py") if path.stem in pins)

    lock(**pins)
    clean, make, fetch, _ = local_commands(tool)
    for step in (clean, make):
        subprocess.run(step, check=True)
    wheel(wheels, "first", "second", code="harm")
    assert installed() == [], "another wheel of the tool"
    wheel(wheels, "first", "second")
    wheel(wheels, "second", code="harm")
    assert installed() == [], "another wheel of what it needs"
    wheel(wheels, "second")
    lock(first=pins["first"])
    assert installed() == [], "what it needs is not pinned"
    lock(**pins)
    assert installed() == ["first", "second"]


@pytest.mark.parametrize("tool", FROM_PYPI, ids=NAMES)
def test_a_lock_pins_the_tool_and_all_that_it_needs(tool):
    text = pypi.source(tool).read_text()
    pinned = re.findall(
        r"^([a-z0-9-]+)==\S+ \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.MULTILINE
    )
    assert tool.name in [name for name, _ in pinned]
    assert len(pinned) == text.count("==")
    assert "://" not in text, "where to fetch from is the user's affair"


@pytest.mark.parametrize("tool", FROM_PYPI, ids=NAMES)
def test_only_wheels_with_hashes_are_installed(tool):
    _, _, fetch, _ = local_commands(tool)
    assert {"--require-hashes", "--only-binary", ":all:", str(pypi.source(tool))} <= set(fetch)


def test_a_tool_that_nobody_pinned_is_not_installed():
    with pytest.raises(
        PlugInError, match=r"x cannot be installed: its lock .*/locks/some-package cannot be read"
    ):
        local_commands(Tool("x", pip="some-package"))
