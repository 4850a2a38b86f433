"""Logs of Darshan, read by its own library."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from steelyard.errors import UsageError
from steelyard.model.tool import DARSHAN
from steelyard.store.layout import Store
from steelyard.tools.find import find_missing
from steelyard.traces.darshan import import_log
from steelyard.traces.folder import TraceFolder, create_trace
from steelyard.traces.profile import profile_table

_FIND = (
    "import darshan, os; print(os.path.join(os.path.dirname(darshan.__file__), 'examples', 'example_logs'))"
)


@pytest.fixture
def logs() -> Path:
    """Those that come with the library."""
    if find_missing([DARSHAN]):
        pytest.skip("steelyard install darshan")
    said = subprocess.run(DARSHAN.argv("-I", "-c", _FIND), check=True, capture_output=True, text=True)
    return Path(said.stdout.strip())


@pytest.fixture
def folder(tmp_path: Path) -> TraceFolder:
    return create_trace(Store(tmp_path / "store"), "log")


def test_its_reads_and_writes_become_a_trace(logs: Path, folder: TraceFolder) -> None:
    document = import_log(logs / "dxt.darshan", folder)
    profile = profile_table(folder.table)
    assert set(profile.kinds) == {"read", "write"}
    assert document["calls"] == profile.calls > 100
    assert profile.processes == 1
    assert profile.seconds > 0
    assert not list(folder.path.glob("rows*"))


@pytest.mark.parametrize(
    ("name", "said"), [("example.darshan", "no calls in it"), ("noposix.darshan", "no calls in it")]
)
def test_a_log_without_calls_says_how_to_have_some(
    logs: Path, folder: TraceFolder, name: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        import_log(logs / name, folder)
    assert not folder.table.exists()


@pytest.mark.parametrize("cut", [0, 100, 20_000, 98_000])
def test_what_is_no_log_is_refused(logs: Path, folder: TraceFolder, tmp_path: Path, cut: int) -> None:
    damaged = tmp_path / "cut.darshan"
    damaged.write_bytes((logs / "dxt.darshan").read_bytes()[:cut])
    with pytest.raises(UsageError, match="cannot read"):
        import_log(damaged, folder)
