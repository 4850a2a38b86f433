"""What all tests share: a place of their own each, and the certainty that nothing they started stays."""

from __future__ import annotations

import faulthandler
import functools
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from accounts import Account, account
from histories import make_history
from loading import loaded
from patience import until
from standins import lay
from steelyard.store.reader import RunRecord

MARK = "STEELYARD_TEST_SESSION"
TOKEN = b"\0STEELYARD_TOKEN="


def pytest_configure(config: pytest.Config) -> None:
    # Machines that run tests are busy: how long an example takes says nothing.
    settings.register_profile("steelyard", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("steelyard")
    # Inherited by whatever the tests start, and by the workers of pytest-xdist.
    os.environ.setdefault(MARK, secrets.token_hex(8))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test with a longer limit of its own has that: pytest would end its worker before."""
    own = item.get_closest_marker("timeout")
    if own and own.args[0] > float(item.config.getini("faulthandler_timeout")):
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the session when a process of one of its runs is still there, and end it."""
    if hasattr(session.config, "workerinput"):
        return  # a worker of pytest-xdist; the others may still be at it
    until(lambda: not left_behind(), 60)  # a minder may just be at it
    left = left_behind()
    for pid, words in left.items():
        print(f"\nstill running after all tests, with the token of a run: {pid} {words}")
        os.kill(pid, signal.SIGKILL)
    if left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def left_behind() -> dict[int, str]:
    """The processes that this session's runs left running: pid to command line."""
    mark = f"\0{MARK}={os.environ[MARK]}\0".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            environ = _read(entry / "environ")
            if mark in environ and TOKEN in environ:
                found[int(entry.name)] = (
                    _read(entry / "cmdline").replace(b"\0", b" ").decode(errors="replace")
                )
    return found


def _read(path: Path) -> bytes:
    try:
        return b"\0" + path.read_bytes()
    except OSError:
        return b""


@pytest.fixture(autouse=True, scope="session")
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What runs of ours do on this machine, or left on it, is no test's, nor a server's that tests share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("STEELYARD_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        yield


@pytest.fixture(autouse=True)
def own_place(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory, a TMPDIR, a store, a state and a place for locks of the machine, of its own.

    Beside `tmp_path`, which tests expect to be empty.
    """
    place = Path(tempfile.mkdtemp(prefix="own-", dir=tmp_path_factory.getbasetemp()))
    (place / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(place / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(place / "tmp"))
    monkeypatch.setenv("STEELYARD_RUNTIME_DIR", str(place / "tmp"))
    monkeypatch.setenv("STEELYARD_STORE", str(place / "store"))
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    monkeypatch.delenv("STEELYARD_SCRATCH", raising=False)
    monkeypatch.chdir(place)
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def enterable() -> Iterator[Path]:
    """A directory that servers which give up root may enter, unlike pytest's."""
    place = Path(tempfile.mkdtemp(prefix="steelyard-test-", dir="/tmp"))
    place.chmod(0o711)
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def enterable_scratch(enterable: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, as the scratch of runs."""
    monkeypatch.setenv("STEELYARD_SCRATCH", str(enterable))
    return enterable


@pytest.fixture
def stand_ins(enterable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that no registry has are played by small ones, last on PATH: a real one comes first."""
    monkeypatch.setenv("PATH", os.pathsep.join([os.environ["PATH"], lay(enterable, monkeypatch)]))


@pytest.fixture(scope="session")
def mallory() -> Iterator[Account]:
    """A second account of this machine, who means us ill; skips the test where none can be made."""
    with account() as stranger:
        yield stranger


@pytest.fixture(scope="session")
def alice() -> Iterator[Account]:
    """An ordinary account, where root would be spared what happens to everybody else."""
    with account() as user:
        yield user


@pytest.fixture(scope="session")
def plans() -> ModuleType:
    """Runs with a known truth: `plans.build(folder, …)`, `plans.gensim()`; see `analysis/synthetic.py`."""
    return loaded(Path(__file__).with_name("analysis") / "synthetic.py")


@pytest.fixture
def build(plans: ModuleType, tmp_path: Path) -> Callable[..., RunRecord]:
    """`build(parameters=…, require=…)` makes a run folder; `plans.Plan` says what it can be told."""
    return functools.partial(plans.build, tmp_path)


@pytest.fixture
def make_runs(plans: ModuleType, tmp_path: Path) -> Callable[..., Any]:
    """`make_runs(40, shift_at=30)`: so many runs of one experiment; see `shared/histories.py`."""
    return functools.partial(make_history, plans, tmp_path)
