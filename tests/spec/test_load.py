"""Where the paths of an experiment file begin: at the file, or at its `dir`."""

from __future__ import annotations

import pytest

from steelyard.controller.run import resume, start
from steelyard.errors import SpecError
from steelyard.spec.load import load
from steelyard.store.layout import Store
from steelyard.store.reader import RunRecord

PROGRAM = """\
experiment: elsewhere
dir: DIR
workload:
  use: command
  run: [./solver]
  cwd: "${experiment.dir}"
  metrics: {residual: {regex: 'residual (.*)'}}
repeat: 1
disturbed: include
"""


@pytest.fixture
def project(tmp_path):
    """A folder with a program, and another with an experiment of it."""
    for name in ("project", "experiments"):
        (tmp_path / name).mkdir()
    program = tmp_path / "project/solver"
    program.write_text("#!/bin/sh\nexec cat input\n")
    program.chmod(0o700)
    (tmp_path / "project/input").write_text("residual 7\n")
    return tmp_path


def write(project, text):
    path = project / "experiments/it.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("place", ["../project", "/absolute"])
def test_paths_begin_at_the_dir(project, place):
    text = PROGRAM.replace("DIR", place if place.startswith(".") else str(project / "project"))
    path = write(project, text)
    experiment, text = load(path)
    store = Store(project / "store")
    run = start(experiment, text, store, origin=path)
    (trial,) = RunRecord(run).results
    assert trial.metrics["residual"] == 7
    resume(run, store)


def test_one_that_is_no_folder_is_said_at_its_line(project):
    with pytest.raises(SpecError) as caught:
        load(write(project, PROGRAM.replace("DIR", "../nowhere")))
    (problem,) = caught.value.problems
    assert (problem.line, problem.message) == (
        2,
        f"{project / 'experiments/../nowhere'} is no folder on this machine",
    )
