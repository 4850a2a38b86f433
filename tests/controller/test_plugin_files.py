"""Plug-ins that lie beside the experiment: found from its folder, recorded, and found again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import steelyard
from steelyard.controller.choices import RunChoices
from steelyard.controller.observer import Observer
from steelyard.controller.run import extend, resume
from steelyard.errors import SpecError
from steelyard.spec.load import load
from steelyard.store.layout import Store

WORKLOAD = """
from steelyard.plugin import Command, Metric, Output, Place, Reading
from steelyard.plugin.workload import Workload, WorkloadOptions


class AskOptions(WorkloadOptions):
    until: str


class Ask(Workload[AskOptions]):
    Options = AskOptions
    talks_to = frozenset({"server"})

    def metrics(self) -> tuple[Metric, ...]:
        return (Metric("time", "s", "lower", "how long"),)

    def command(self, place: Place) -> Command:
        return Command(("sh", "-c", "until [ -e $0 ]; do sleep 0.01; done", self.options.until))

    def parse(self, phase: str, output: Output) -> Reading:
        return Reading({"time": output.exit.wall})
"""
SERVICE = """
from steelyard.plugin import Endpoint
from steelyard.plugin.service import Listener, Service, ServiceOptions


class Server(Service[ServiceOptions]):
    access = (Listener("nothing", authentication="more than anybody has"),)

    async def start(self) -> None:
        pass

    async def is_answering(self, server: object) -> bool:
        return True

    def endpoint(self) -> Endpoint:
        return Endpoint("127.0.0.1", 4711)
"""
EVENT = """
from pathlib import Path

from steelyard.plugin.event import Event, EventOptions


class BellOptions(EventOptions):
    file: str


class Bell(Event[BellOptions]):
    Options = BellOptions

    async def happen(self) -> dict[str, object]:
        Path(self.options.file).touch()
        return {"rang": True}
"""
EXPERIMENT = """
experiment: beside
services:
  kv: {use: ./server.py, on: host}
workload: {use: plugins/ask.py, to: kv, until: "${experiment.dir}/rang"}
timeline:
  - {do: ./bell.py, at: 0s, file: "${experiment.dir}/rang"}
repeat: 1
disturbed: include
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "experiment"
    (folder / "plugins").mkdir(parents=True)
    for name, text in (("plugins/ask.py", WORKLOAD), ("server.py", SERVICE), ("bell.py", EVENT)):
        (folder / name).write_text(text)
    (folder / "beside.yaml").write_text(EXPERIMENT)
    return folder / "beside.yaml"


class Listening(Observer):
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def on_warning(self, text: str) -> None:
        self.warnings.append(text)


def start(file: Path, store: Path) -> steelyard.Run:
    return steelyard.run(file, site="local", store=store)


def test_a_run_uses_them_and_says_which_they_were(file: Path, tmp_path: Path) -> None:
    run = start(file, tmp_path)
    (row,) = run.rows()
    assert (row["status"], row["time"] > 0) == ("ok", True)
    journal = run.record.journal
    plugins = {Path(each["path"]).relative_to(file.parent): each["digest"] for each in journal[0]["plugins"]}
    assert plugins == {
        path.relative_to(file.parent): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (file.parent / "plugins" / "ask.py", file.parent / "server.py", file.parent / "bell.py")
    }
    (rang,) = (line for line in journal if line["kind"] == "event-ended")
    assert (rang["event"], rang["facts"]) == ("./bell.py", {"rang": True})
    assert "bell_time" in row, "an event is called by its file's name"
    design = json.loads(run.record.folder.design.read_text())
    assert design["workload"][0]["use"] == "plugins/ask.py", "as it is written, wherever the file lies"


def test_a_run_goes_on_from_another_directory_and_tells_what_has_changed(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    (file.parent / "server.py").write_text(f"{SERVICE}\n# another one")
    heard, store = Listening(), Store(tmp_path)
    choices = RunChoices("local")
    extend(run.record.folder, store, levels={}, repeat=2, choices=choices, observer=heard)
    assert len(steelyard.load(run.id, store=tmp_path).rows()) == 2
    (changed,) = [text for text in heard.warnings if "has changed" in text]
    assert changed == (
        f"{file.parent}/server.py has changed since this run began; the remaining trials use the changed "
        "plug-in; start a new run to measure it in all trials"
    )
    resumed = steelyard.load(run.id, store=tmp_path).record.journal
    digests = [line["plugins"][1]["digest"] for line in resumed if "plugins" in line]
    assert len(set(digests)) == 2, "each session says what it used"
    (file.parent / "server.py").unlink()
    with pytest.raises(SpecError, match=r"experiment\.yaml:\d.* there is no file server\.py in"):
        resume(run.record.folder, store, choices=choices)


def test_a_service_that_is_a_level_may_be_a_file(file: Path) -> None:
    file.write_text(
        "experiment: kinds\nparameters: {kind: [./server.py, ./other.py]}\n"
        'services:\n  kv: {use: "${kind}", on: host, ./other.py: {speed: 2}}\n'
        "workload: {use: command, run: [ls]}\n"
    )
    (file.parent / "other.py").write_text(
        SERVICE.replace("ServiceOptions]", "Fast]")
        .replace("class Server", "class Fast(ServiceOptions):\n    speed: int\n\n\nclass Other")
        .replace("    access", "    Options = Fast\n    access")
    )
    experiment, _ = load(file)
    assert experiment.services["kv"].use == "${kind}"


MISTAKES = {
    ("./server.py, on", "./sever.py, on"): (
        r"beside\.yaml:4:\d+  there is no file sever\.py in .*; did you mean 'server\.py'\?"
    ),
    ("plugins/ask.py", "./server.py"): r"subclass of Workload, found 0; Server is a Service",
    ("./bell.py", "./server.py"): r"do: .* subclass of Event, found 0; Server is a Service",
    ("to: kv", "to: kv, pace: 3"): r"unknown key 'pace'",
    ("./server.py, on", "program, run: [x], on"): r"plugins/ask\.py cannot work with service program; it wor",
}


@pytest.mark.parametrize("change", MISTAKES)
def test_mistakes_have_their_place_in_the_file(file: Path, change: tuple[str, str]) -> None:
    file.write_text(EXPERIMENT.replace(*change))
    with pytest.raises(SpecError, match=MISTAKES[change]):
        load(file)


def test_an_event_beside_the_experiment_may_change_the_hosts_of_a_service(file: Path) -> None:
    """Asked of the file itself: `reset: snapshot` needs the same nodes in each repetition."""
    (file.parent / "move.py").write_text(
        "from steelyard.plugin.event import Growable, ServiceEvent, ServiceEventOptions\n\n\n"
        "class Move(ServiceEvent[ServiceEventOptions]):\n"
        "    Options = ServiceEventOptions\n    capability = Growable\n    changes_hosts = True\n\n"
        "    async def happen(self) -> dict[str, object]:\n        return {}\n"
    )
    moved = EXPERIMENT.replace(
        "timeline:", "reset: snapshot\ntimeline:\n  - {do: ./move.py, service: kv, at: 1s}"
    )
    file.write_text(moved.replace("on: host", "on: host, keep: run"))
    with pytest.raises(SpecError, match=r"the same nodes, so '\./move\.py' needs 'keep: trial' for 'kv'"):
        load(file)
