from __future__ import annotations

import sys
from importlib import metadata

import pytest

from steelyard import plugins
from steelyard.errors import PlugInError, UnknownName
from steelyard.workloads.base import Workload


def test_the_file_name_is_the_name():
    assert plugins.find("workloads", "command", Workload).__name__ == "CommandWorkload"


def test_unknown_names_list_what_exists_and_guess():
    with pytest.raises(UnknownName, match="did you mean 'command'") as caught:
        plugins.find("workloads", "comand", Workload)
    assert "fio" in caught.value.allowed


def test_listing_imports_nothing(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("steelyard.workloads.")]:
        monkeypatch.delitem(sys.modules, name)
    assert "command" in plugins.names("workloads")
    assert "steelyard.workloads.command" not in sys.modules


@pytest.fixture
def entry(monkeypatch, tmp_path):
    """Install a plug-in module under an entry point, as a stranger's package would."""

    def install(source: str) -> None:
        (tmp_path / "strangers.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "strangers", raising=False)
        found = metadata.EntryPoint("theirs", "strangers", "steelyard.workloads")

        def entry_points(group: str) -> list[metadata.EntryPoint]:
            looks.append(group)
            return [found] if "workloads" in group else []

        monkeypatch.setattr(plugins.metadata, "entry_points", entry_points)

    looks: list[str] = []
    install.looks = looks
    return install


def test_a_broken_plug_in_fails_only_when_it_is_named(entry):
    entry("import no_such_module_anywhere")
    assert "theirs" in plugins.names("workloads")
    assert plugins.find("workloads", "command", Workload)
    with pytest.raises(PlugInError, match="strangers cannot be imported: ModuleNotFoundError"):
        plugins.find("workloads", "theirs", Workload)


def test_a_plug_in_of_another_package_is_found(entry):
    entry("from steelyard.workloads.base import Workload\nclass Theirs(Workload): pass")
    assert plugins.find("workloads", "theirs", Workload).__name__ == "Theirs"


def test_the_packages_are_looked_through_once_however_many_cells_ask(entry):
    entry("from steelyard.workloads.base import Workload\nclass Theirs(Workload): pass")
    assert len({plugins.find("workloads", "theirs", Workload) for _ in range(1000)}) == 1
    assert entry.looks == ["steelyard.workloads"]


def test_a_module_with_two_plug_ins_is_refused(entry):
    entry("from steelyard.workloads.base import Workload\nclass A(Workload): pass\nclass B(Workload): pass")
    with pytest.raises(PlugInError, match="exactly one public subclass of Workload, found 2"):
        plugins.find("workloads", "theirs", Workload)


def test_what_plug_ins_declare_is_read_without_those_that_are_broken(entry):
    entry("class Theirs:\n    talks_to = frozenset({'kv'})\n    needs = 3")
    declared = plugins.read_declarations("workloads", "talks_to", frozenset)
    assert declared["theirs"] == {"kv"}
    assert "redis" in declared["redis_benchmark"]
    assert plugins.read_declarations("workloads", "needs", int) == {"theirs": 3}, (
        "of the form asked for alone"
    )


def test_a_broken_one_declares_nothing(entry):
    entry("import no_such_module_anywhere")
    assert "theirs" not in plugins.read_declarations("workloads", "talks_to", frozenset)
