from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from steelyard import plugins
from steelyard.errors import PlugInError, UnknownName
from steelyard.trust import trust
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


# Files beside an experiment

NAPPER = """
from steelyard.plugin import Command, Metric, Output, Place, Reading
from steelyard.plugin.workload import Workload, WorkloadOptions


class NapOptions(WorkloadOptions):
    seconds: float = 0.01


class Nap(Workload[NapOptions]):
    Options = NapOptions

    def metrics(self) -> tuple[Metric, ...]:
        return (Metric("slept", "s", "none", "how long"),)

    def command(self, place: Place) -> Command:
        return Command(("sleep", f"{self.options.seconds:g}"))

    def parse(self, phase: str, output: Output) -> Reading:
        return Reading({"slept": output.exit.wall})
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def test_a_file_is_a_plug_in(tmp_path, monkeypatch):
    kind = plugins.find("workloads", write(tmp_path / "nap.py", NAPPER), Workload)
    assert kind.__name__ == "Nap"
    assert kind.Options.model_validate({"seconds": 1}).seconds == 1, "its types are known"
    monkeypatch.chdir(tmp_path)
    assert plugins.find("workloads", "./nap.py", Workload) is kind
    assert plugins.find("workloads", "nap.py", Workload) is kind
    assert [path.name for path in tmp_path.iterdir()] == ["nap.py"], "nothing is left beside it"


def test_a_folder_is_one_with_all_that_lies_in_it(tmp_path):
    write(tmp_path / "nap" / "words.py", "SECONDS = 0.5")
    text = NAPPER.replace("0.01", "SECONDS") + "\n"
    write(tmp_path / "nap" / "__init__.py", f"from .words import SECONDS\n{text}")
    kind = plugins.find("workloads", str(tmp_path / "nap"), Workload)
    assert kind.Options().seconds == 0.5
    assert [path.name for path in plugins.source_files(str(tmp_path / "nap"))] == ["__init__.py", "words.py"]


def test_files_of_one_name_are_told_apart(tmp_path):
    names = [write(tmp_path / place / "nap.py", NAPPER.replace("Nap(", f"{place}(")) for place in ("A", "B")]
    assert [plugins.find("workloads", name, Workload).__name__ for name in names] == ["A", "B"]


def test_a_file_that_has_changed_is_read_again(tmp_path):
    name = write(tmp_path / "nap.py", NAPPER)
    before = plugins.find("workloads", name, Workload)
    write(tmp_path / "nap.py", NAPPER.replace("Nap(", "LongNap("))
    assert plugins.find("workloads", name, Workload).__name__ == "LongNap"
    assert before.__name__ == "Nap"


BROKEN = {
    "import no_such_module_anywhere": r"nap\.py cannot be imported: line 1: ModuleNotFoundError: No module",
    "\n\nclass Nap(Workload): pass": r"nap\.py cannot be imported: line 3: NameError: name 'Workload'",
    "def f(:\n": r"nap\.py cannot be imported: line 1: SyntaxError",
    "raise SystemExit(3)": r"nap\.py cannot be imported: line 1: SystemExit: 3",
    "": r"nap\.py must define exactly one public subclass of Workload, found 0$",
    f"{NAPPER}\nclass Doze(Nap): pass": "exactly one public subclass of Workload, found 2",
}


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_wrong_with_a_file_is_told_with_its_line(tmp_path, text):
    name = write(tmp_path / "nap.py", text)
    with pytest.raises(PlugInError, match=BROKEN[text]):
        plugins.find("workloads", name, Workload)
    there = [module for module in sys.modules.values() if getattr(module, "__file__", None) == name]
    assert bool(there) == ("found" in BROKEN[text] or "exactly" in BROKEN[text]), "half a module is none"


def test_a_file_of_another_kind_is_told(tmp_path):
    from steelyard.services.base import Service

    name = write(tmp_path / "nap.py", NAPPER)
    with pytest.raises(PlugInError, match=r"subclass of Service, found 0; Nap is a Workload$"):
        plugins.find("services", name, Service)


def test_a_file_that_is_not_there_is_named_with_one_that_is(tmp_path):
    write(tmp_path / "server.py", "")
    with pytest.raises(PlugInError, match=rf"no file sever\.py in {tmp_path}; did you mean 'server\.py'\?"):
        plugins.find("workloads", str(tmp_path / "sever.py"), Workload)
    (tmp_path / "empty").mkdir()
    with pytest.raises(PlugInError, match=r"empty has no __init__\.py; define the plug-in class there"):
        plugins.find("workloads", str(tmp_path / "empty"), Workload)


def test_a_file_that_others_may_replace_is_not_even_imported(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    place = tmp_path / "open"
    name = write(
        place / "nap.py", f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n{NAPPER}"
    )
    place.chmod(0o777)
    with pytest.raises(PlugInError, match=f"{place}: others may write to it; .*`steelyard trust {place}`"):
        plugins.find("workloads", name, Workload)
    assert not (tmp_path / "ran").exists()
    trust(place)
    assert plugins.find("workloads", name, Workload).__name__ == "Nap"


def test_nothing_in_a_folder_may_be_of_others(tmp_path):
    name = write(tmp_path / "nap" / "__init__.py", NAPPER)
    Path(write(tmp_path / "nap" / "inner" / "words.py", "")).parent.chmod(0o777)
    with pytest.raises(PlugInError, match="inner: others may write to it"):
        plugins.find("workloads", str(Path(name).parent), Workload)
